// All runs, and the way to label and delete them, to compare two of them or to follow one service.

import { useEffect, useState } from "preact/hooks";
import { plural, unbroken, when } from "../format.ts";
import { ask, runPath, servicePath, Shown, useAnswer, type Known, type ListedRun, type Rights, type RunAnswer } from "./api.tsx";
import { TableHead } from "../parts/elements.tsx";
import { Manage } from "./manage.tsx";

function stateOf(run: ListedRun): string {
  if (run.running) return "running";
  return run.ended_at === null ? "unfinished" : "ended";
}

/** The result of each run, requested one after the other: computing it takes the server a while. */
function useAnswers(runs: ListedRun[]): ReadonlyMap<string, RunAnswer> {
  const [answers, setAnswers] = useState<ReadonlyMap<string, RunAnswer>>(new Map());
  useEffect(() => {
    let wanted = true;
    void (async () => {
      for (const run of runs) {
        const answer = await ask<RunAnswer>(`/api/runs/${encodeURIComponent(run.id)}/answer`).catch(() => null);
        if (!wanted) return;
        if (answer?.answer) setAnswers((before) => new Map(before).set(run.id, answer));
      }
    })();
    return () => {
      wanted = false;
    };
  }, [runs]);
  return answers;
}

function RunTable(props: { runs: ListedRun[]; rights: Rights; changed: () => void }) {
  const answers = useAnswers(props.runs);
  const [text, setText] = useState("");
  const wanted = text.toLowerCase().trim();
  const shown = props.runs.filter((run) => [run.id, run.label, run.suite, run.compared, answers.get(run.id)?.answer].join(" ").toLowerCase().includes(wanted));
  const [marked, setMarked] = useState<string[]>([]);
  // Only the last two marks count: a third replaces the first.
  const mark = (id: string) => setMarked(marked.includes(id) ? marked.filter((other) => other !== id) : [...marked, id].slice(-2));
  const [a, b] = props.runs.filter((run) => marked.includes(run.id)).map((run) => run.id).reverse();
  return (
    <>
      <div class="filters" role="search" aria-label="Filter the runs">
        <label class="field">
          <span>Find</span>
          <input type="search" placeholder="label, suite, service, answer …" value={text} onInput={(event) => setText(event.currentTarget.value)} />
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
                <span class="about">{[run.label && run.id, run.suite, run.compared].filter(Boolean).join(" · ")}</span>
                <Told answer={answers.get(run.id)} />
                {props.rights.change && <Manage run={run} changed={props.changed} />}
              </th>
              <td>{when(run.started_at)}</td>
              <td>
                {run.trials} of {run.planned_trials}
                {run.excluded_trials > 0 && <small> {plural(run.excluded_trials, "failed", "failed")}</small>}
              </td>
              <td class={run.running ? "state" : ""}>{stateOf(run)}</td>
              <td>
                <input type="checkbox" aria-label={`Compare ${run.id}`} checked={marked.includes(run.id)} onChange={() => mark(run.id)} />
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

function Told(props: { answer: RunAnswer | undefined }) {
  if (!props.answer) return null;
  const { answer, more } = props.answer;
  return (
    <span class="told">
      {unbroken(answer ?? "")}
      {more > 0 && <small> and {plural(more, "more ranking")}</small>}
    </span>
  );
}

function ServiceList(props: { services: Known[] }) {
  const contracts = [...new Set(props.services.map((known) => known.contract))];
  return (
    <section aria-labelledby="services">
      <h2 id="services">History of a service</h2>
      {contracts.map((contract) => (
        <p key={contract} class="links">
          <b>{contract}</b>
          {props.services
            .filter((known) => known.contract === contract)
            .map((known) => (
              <a key={servicePath(known)} href={servicePath(known)}>
                {known.service}/{known.variant}
              </a>
            ))}
        </p>
      ))}
    </section>
  );
}

export function Runs() {
  const [changes, setChanges] = useState(0);
  const answer = useAnswer(() => Promise.all([ask<ListedRun[]>("/api/runs"), ask<Known[]>("/api/services"), ask<Rights>("/api/rights")]), changes);
  return (
    <Shown answer={answer}>
      {([runs, services, rights]) => (
        <>
          <h1>Runs</h1>
          {runs.length === 0 ? <p>The store is empty: `prony run` fills it.</p> : <RunTable runs={runs} rights={rights} changed={() => setChanges((before) => before + 1)} />}
          {services.length > 0 && <ServiceList services={services} />}
        </>
      )}
    </Shown>
  );
}
