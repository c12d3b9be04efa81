// Two runs side by side: the changes, with their intervals.

import { useMemo } from "preact/hooks";
import { percentilesOfRuns } from "../charts/latency.ts";
import { idOf, Services, type Report } from "../data.ts";
import { formatTime, percent, ratio, unitFor, type Unit } from "../format.ts";
import { estimateWithUnit, METRIC, metricName, toBaseUnit } from "../metrics.ts";
import { getJson, Loaded, runPath, useRequest, type Change, type ComparedRun, type GroupChange, type RunComparison } from "./api.tsx";
import { ScrollTable } from "../parts/elements.tsx";
import { Figure } from "../parts/figure.tsx";
import { groupKey, useParams } from "../view.ts";

const WORD = { faster: "better", slower: "worse", same: "equal", cannot_tell: "inconclusive" };

function ChangeCells(props: { change: Change }) {
  const { change } = props;
  const base = toBaseUnit(change.metric, change.base.point);
  const unit: Unit = unitFor(METRIC[change.metric]?.dimension ?? "count", [base]);
  return (
    <>
      <td class="metric">{metricName(change.metric)}</td>
      <td class={change.verdict}>
        {ratio(change.ratio.low)}–{ratio(change.ratio.high)} × <small>{WORD[change.verdict]}</small>
      </td>
      <td>{estimateWithUnit(change.metric, change.base, unit)}</td>
      <td>{estimateWithUnit(change.metric, change.new, unit)}</td>
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
        columns={["Service", "Metric", "New ÷ base", "Base", "New"]}
      >
        {group.services.map(({ service, changes }) =>
          changes.map((change, index) => (
            <tr key={`${service} ${change.metric}`} class={index === 0 ? "first" : ""}>
              {index === 0 && (
                <th scope="rowgroup" rowSpan={changes.length}>
                  {services.name(service)}
                </th>
              )}
              <ChangeCells change={change} />
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
      {props.label} <a href={runPath(props.run.id)}>{props.run.id}</a> of {formatTime(props.run.started_at)}
    </span>
  );
}

function summary(compared: RunComparison): string {
  const changes = compared.groups.flatMap((group) => group.services.flatMap((service) => service.changes));
  const count = (verdict: string) => changes.filter((change) => change.verdict === verdict).length;
  return `${count("slower")} worse, ${count("faster")} better, ${count("same")} equal, ${count("cannot_tell")} inconclusive, of ${changes.length} figures.`;
}

/** The curves of one service in both runs. */
function Curves(props: { compared: RunComparison; reports: [Report, Report] }) {
  const { compared, reports } = props;
  const services = useMemo(() => new Services(compared.services), [compared]);
  const [params, change] = useParams();
  const choices = useMemo(() => {
    const groups = reports[1].groups.flatMap((group) => {
      const before = reports[0].groups.find((other) => groupKey(other) === groupKey(group));
      return before ? [{ group, before }] : [];
    });
    return groups.flatMap(({ group, before }) =>
      group.services.flatMap((row) => {
        const old = before.services.find((other) => idOf(other) === idOf(row));
        const name = [services.name(idOf(row)), ...(groups.length > 1 ? [group.workload, group.load_text] : [])].join(" · ");
        const chart = old ? percentilesOfRuns([old, row], [`Base ${compared.base.id}`, `New ${compared.new.id}`], name) : null;
        return chart ? [{ key: `${groupKey(group)}/${idOf(row)}`, name, chart }] : [];
      }),
    );
  }, [compared, reports, services]);
  const chosen = choices.find((one) => one.key === params.get("curves")) ?? choices[0];
  if (!chosen) return null;
  return (
    <section aria-labelledby="curves">
      <h2 id="curves">Both runs over each other</h2>
      <Figure chart={chosen.chart} wide>
        <label class="field inline">
          <span>Service</span>
          <select
            value={chosen.key}
            onChange={(event) => {
              const key = event.currentTarget.value;
              change((next) => next.set("curves", key));
            }}
          >
            {choices.map((one) => (
              <option key={one.key} value={one.key}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
      </Figure>
    </section>
  );
}

export function Comparison(props: { a: string; b: string }) {
  const query = new URLSearchParams({ a: props.a, b: props.b }).toString();
  const request = useRequest(() => getJson<RunComparison>(`/api/compare?${query}`), query);
  // They are long, and the tables do not need them.
  const report = (run: string) => getJson<Report>(`/api/runs/${encodeURIComponent(run)}`);
  const reports = useRequest(() => Promise.all([report(props.a), report(props.b)]), query);
  return (
    <Loaded request={request}>
      {(compared) => (
        <>
          <h1>What changed</h1>
          <p class="facts">
            <RunLink label="Base" run={compared.base} />
            <RunLink label="New" run={compared.new} />
          </p>
          <div class="answer">
            <p>{summary(compared)}</p>
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
          {reports.state === "loaded" && <Curves compared={compared} reports={reports.value} />}
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
    </Loaded>
  );
}
