// All runs, and the way to label and delete them, to compare two of them or to follow one service.

import { useEffect, useState } from "preact/hooks";
import { formatTime, nonBreaking, plural } from "../format.ts";
import { getJson, Loaded, readLines, runPath, servicePath, useRequest, type ListedRun, type Permissions, type RunAnswer, type ServiceKey } from "./api.tsx";
import { useParams } from "../view.ts";
import { Prose, TableHead } from "../parts/elements.tsx";
import { Manage } from "./manage.tsx";

function stateOf(run: ListedRun): string {
  if (run.running) return "running";
  return run.ended_at === null ? "unfinished" : "ended";
}

/** Pause between two looks at the list, ms. */
const REFRESH_MS = 5000;

/** The result of each run: one request, whose lines arrive as the server computes them. */
function useFindings(runs: ListedRun[]): ReadonlyMap<string, RunAnswer> {
  const [findings, setFindings] = useState<ReadonlyMap<string, RunAnswer>>(new Map());
  const state = runs.map((run) => `${run.id} ${run.trials} ${run.ended_at}`).join("\n");
  useEffect(() => {
    const abort = new AbortController();
    const take = (answers: RunAnswer[]) =>
      setFindings((before) => new Map([...before, ...answers.filter(({ answer }) => answer !== null).map((answer): [string, RunAnswer] => [answer.run, answer])]));
    // Without them the list is shorter, but complete.
    readLines<RunAnswer>("/api/answers", abort.signal, take).catch(() => undefined);
    return () => abort.abort();
  }, [state]);
  return findings;
}

function RunTable(props: { runs: ListedRun[]; permissions: Permissions; changed: () => void }) {
  const findings = useFindings(props.runs);
  const [params, change] = useParams();
  const text = params.get("find") ?? "";
  const query = text.toLowerCase().trim();
  const shown = props.runs.filter((run) => [run.id, run.label, run.suite, run.compared, findings.get(run.id)?.answer].join(" ").toLowerCase().includes(query));
  const selection = params.getAll("mark");
  const find = (text: string) => change((next) => (text ? next.set("find", text) : next.delete("find")));
  // Only the last two marks count: a third replaces the first.
  const toggle = (id: string) =>
    change((next) => {
      const marked = next.getAll("mark");
      next.delete("mark");
      for (const one of marked.includes(id) ? marked.filter((other) => other !== id) : [...marked, id].slice(-2)) next.append("mark", one);
    });
  const [a, b] = props.runs.filter((run) => selection.includes(run.id)).map((run) => run.id).reverse();
  return (
    <>
      <div class="filters" role="search" aria-label="Filter the runs">
        <label class="field">
          <span>Find</span>
          <input type="search" placeholder="label, suite …" value={text} onInput={(event) => find(event.currentTarget.value)} />
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
  const request = useRequest(() => getJson<ListedRun[]>("/api/runs"), changes, REFRESH_MS);
  const known = request.state === "loaded" ? request.value.length : 0;
  const others = useRequest(() => Promise.all([getJson<ServiceKey[]>("/api/services"), getJson<Permissions>("/api/rights")]), known);
  const [services, permissions] = others.state === "loaded" ? others.value : [[], { change: false }];
  return (
    <Loaded request={request}>
      {(runs) => (
        <>
          <h1>Runs</h1>
          {runs.length === 0 ? (
            <p>
              The store is empty: <code>prony run</code> fills it.
            </p>
          ) : (
            <RunTable runs={runs} permissions={permissions} changed={() => setChanges((before) => before + 1)} />
          )}
          {services.length > 0 && <ServiceList services={services} />}
        </>
      )}
    </Loaded>
  );
}
