// Two runs side by side: the changes, with their intervals.

import { Services, type Estimate, type Metric } from "../data.ts";
import { intervalWithUnit, percent, ratio, unitFor, when, type Unit } from "../format.ts";
import { METRIC, metricName, toBase } from "../metrics.ts";
import { ask, runPath, Shown, useAnswer, type Change, type Compared, type ComparedRun, type GroupChange } from "./api.tsx";
import { ScrollTable } from "../parts/elements.tsx";

const SAID = { faster: "better", slower: "worse", same: "the same", cannot_tell: "cannot tell" };

function Value(props: { estimate: Estimate; metric: Metric; unit: Unit }) {
  const { estimate, metric, unit } = props;
  const [point, low, high] = [estimate.point, estimate.low, estimate.high].map((value) => toBase(metric, value)) as [number, number, number];
  return <>{intervalWithUnit({ point, low, high }, unit)}</>;
}

function Cells(props: { change: Change }) {
  const { change } = props;
  const base = toBase(change.metric, change.base.point);
  const unit: Unit = unitFor(METRIC[change.metric]?.dimension ?? "count", [base]);
  return (
    <>
      <td class="metric">{metricName(change.metric)}</td>
      <td>
        <Value estimate={change.base} metric={change.metric} unit={unit} />
      </td>
      <td>
        <Value estimate={change.new} metric={change.metric} unit={unit} />
      </td>
      <td class={change.verdict}>
        {ratio(change.ratio.low)}–{ratio(change.ratio.high)} × <small>{SAID[change.verdict]}</small>
      </td>
    </>
  );
}

function GroupTable(props: { group: GroupChange; load: string; services: Services }) {
  const { group, services } = props;
  return (
    <section>
      <h2>
        {group.workload === group.contract ? group.contract : `${group.contract} · ${group.workload}`} <span class="kicker">· {props.load}</span>
      </h2>
      <ScrollTable
        label={`What changed in ${group.contract}, ${group.workload}, ${props.load}`}
        class="plain changes"
        columns={["Service", "Metric", "Base", "New", "New ÷ base"]}
      >
        {group.services.map(({ service, changes }) =>
          changes.map((change, index) => (
            <tr key={`${service} ${change.metric}`} class={index === 0 ? "first" : ""}>
              {index === 0 && (
                <th scope="rowgroup" rowSpan={changes.length}>
                  {services.name(service)}
                </th>
              )}
              <Cells change={change} />
            </tr>
          )),
        )}
      </ScrollTable>
    </section>
  );
}

function RunLink(props: { label: string; run: ComparedRun }) {
  return (
    <span>
      {props.label} <a href={runPath(props.run.id)}>{props.run.id}</a> of {when(props.run.started_at)}
    </span>
  );
}

function tally(compared: Compared): string {
  const changes = compared.groups.flatMap((group) => group.services.flatMap((service) => service.changes));
  const count = (verdict: string) => changes.filter((change) => change.verdict === verdict).length;
  return `${count("slower")} worse, ${count("faster")} better, ${count("same")} the same, ${count("cannot_tell")} inconclusive, of ${changes.length} figures.`;
}

export function Comparison(props: { a: string; b: string }) {
  const asked = new URLSearchParams({ a: props.a, b: props.b }).toString();
  const answer = useAnswer(() => ask<Compared>(`/api/compare?${asked}`), asked);
  return (
    <Shown answer={answer}>
      {(compared) => (
        <>
          <h1>What changed</h1>
          <p class="facts">
            <RunLink label="Base" run={compared.base} />
            <RunLink label="New" run={compared.new} />
          </p>
          <div class="answer">
            <p>{tally(compared)}</p>
            <p class="quiet">
              The ratios of the ranking metrics hold together with {percent(compared.confidence)} confidence, and so do all others. The runs
              were made at different times: the intervals do not include how the machine varies from run to run.
            </p>
          </div>
          {compared.mismatches.length > 0 && (
            <ul class="warnings">
              {compared.mismatches.map((mismatch) => (
                <li key={mismatch}>
                  <span class="sign" aria-hidden="true">
                    ⚠
                  </span>
                  <span>These runs were not made under the same conditions: {mismatch}</span>
                </li>
              ))}
            </ul>
          )}
          {compared.groups.map((group, index) => (
            <GroupTable key={index} group={group} load={compared.load_texts[index] ?? ""} services={new Services(compared.services)} />
          ))}
          {compared.missing.length > 0 && (
            <section>
              <h2>Not compared</h2>
              <ul class="prose">
                {compared.missing.map((text) => (
                  <li key={text}>{text}</li>
                ))}
              </ul>
            </section>
          )}
        </>
      )}
    </Shown>
  );
}
