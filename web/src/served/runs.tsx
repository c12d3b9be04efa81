// All runs, and the way to label and delete them, to compare two of them or to follow one service.

import { useEffect, useState } from "preact/hooks";
import { formatTime, nonBreaking, plural } from "../format.ts";
import { getJson, Loaded, runPath, servicePath, useRequest, type ListedRun, type Permissions, type RunAnswer, type ServiceKey } from "./api.tsx";
import { Prose, TableHead } from "../parts/elements.tsx";
import { Manage } from "./manage.tsx";

function stateOf(run: ListedRun): string {
  if (run.running) return "running";
  return run.ended_at === null ? "unfinished" : "ended";
}

/** The result of each run, requested one after the other: computing it takes the server a while. */
function useFindings(runs: ListedRun[]): ReadonlyMap<string, RunAnswer> {
  const [findings, setFindings] = useState<ReadonlyMap<string, RunAnswer>>(new Map());
  useEffect(() => {
    let current = true;
    void (async () => {
      for (const run of runs) {
        const answer = await getJson<RunAnswer>(`/api/runs/${encodeURIComponent(run.id)}/answer`).catch(() => null);
        if (!current) return;
        if (answer?.answer) setFindings((before) => new Map(before).set(run.id, answer));
      }
    })();
    return () => {
      current = false;
    };
  }, [runs]);
  return findings;
}

function RunTable(props: { runs: ListedRun[]; permissions: Permissions; changed: () => void }) {
  const findings = useFindings(props.runs);
  const [text, setText] = useState("");
  const query = text.toLowerCase().trim();
  const shown = props.runs.filter((run) => [run.id, run.label, run.suite, run.compared, findings.get(run.id)?.answer].join(" ").toLowerCase().includes(query));
  const [selection, setSelection] = useState<string[]>([]);
  // Only the last two marks count: a third replaces the first.
  const toggle = (id: string) => setSelection(selection.includes(id) ? selection.filter((other) => other !== id) : [...selection, id].slice(-2));
  const [a, b] = props.runs.filter((run) => selection.includes(run.id)).map((run) => run.id).reverse();
  return (
    <>
      <div class="filters" role="search" aria-label="Filter the runs">
        <label class="field">
          <span>Find</span>
          <input type="search" placeholder="label, suite …" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <p class="quiet" role="status">
          {shown.length === props.runs.length ? plural(shown.length, "run") : `${shown.length} of ${plural(props.runs.length, "run")}`}
        </p>
      </div>
      <table class="plain runs">
        <TableHead columns={["Run", "Started", "Trials", "State", "Compare"]} />
        <tbody>
          {shown.map((run) => (
            <tr key={run.id}>
              <th scope="row">
                <a href={runPath(run.id)}>{run.label ?? run.id}</a>
                <span class="about">{[run.label && run.id, run.suite, run.compared, run.imported && "imported"].filter(Boolean).join(" · ")}</span>
                <Finding answer={findings.get(run.id)} />
                {props.permissions.change && <Manage run={run} changed={props.changed} />}
              </th>
              <td>{formatTime(run.started_at)}</td>
              <td>
                {run.trials} of {run.planned_trials}
                {run.excluded_trials > 0 && <small> {plural(run.excluded_trials, "failed", "failed")}</small>}
              </td>
              <td class={run.running ? "state" : ""}>{stateOf(run)}</td>
              <td>
                <input type="checkbox" aria-label={`Compare ${run.id}`} checked={selection.includes(run.id)} onChange={() => toggle(run.id)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        {a && b ? (
          <a class="plain-button" href={`/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`}>
            Compare {a} with {b}
          </a>
        ) : (
          <span class="quiet">Mark two runs to compare them.</span>
        )}
      </p>
    </>
  );
}

function Finding(props: { answer: RunAnswer | undefined }) {
  if (!props.answer) return null;
  const { answer, more } = props.answer;
  return (
    <span class="told">
      <Prose text={nonBreaking(answer ?? "")} />
      {more > 0 && <small> and {plural(more, "more ranking")}</small>}
    </span>
  );
}

function ServiceList(props: { services: ServiceKey[] }) {
  const contracts = [...new Set(props.services.map((service) => service.contract))];
  return (
    <section aria-labelledby="services">
      <h2 id="services">History of a service</h2>
      {contracts.map((contract) => (
        <p key={contract} class="links">
          <b>{contract}</b>
          {props.services
            .filter((service) => service.contract === contract)
            .map((service) => (
              <a key={servicePath(service)} href={servicePath(service)}>
                {service.service}/{service.variant}
              </a>
            ))}
        </p>
      ))}
    </section>
  );
}

export function Runs() {
  const [changes, setChanges] = useState(0);
  const request = useRequest(() => Promise.all([getJson<ListedRun[]>("/api/runs"), getJson<ServiceKey[]>("/api/services"), getJson<Permissions>("/api/rights")]), changes);
  return (
    <Loaded request={request}>
      {([runs, services, permissions]) => (
        <>
          <h1>Runs</h1>
          {runs.length === 0 ? <p>
              The store is empty: <code>prony run</code> fills it.
            </p> : <RunTable runs={runs} permissions={permissions} changed={() => setChanges((before) => before + 1)} />}
          {services.length > 0 && <ServiceList services={services} />}
        </>
      )}
    </Loaded>
  );
}
