// One run: its report and, while it is in progress, its current state.

import { useEffect, useRef, useState } from "preact/hooks";
import type { TestbedHost, Report } from "../data.ts";
import { formatDuration, formatTime, humanize, words, type Dimension } from "../format.ts";
import { ScrollTable } from "../parts/elements.tsx";
import { ReportPage } from "../parts/page.tsx";
import { getJson, Loaded, useRequest, type Progress, type RunEvent } from "./api.tsx";
import { useRunEvents } from "./events.ts";

/** Points of a sparkline: about half a minute. */
const SPARKLINE_POINTS = 60;
const [SPARKLINE_WIDTH, SPARKLINE_HEIGHT] = [160, 36];

/** A line with a gap wherever there is no value. */
function Sparkline(props: { values: (number | null)[]; label: string; dimension: Dimension }) {
  const { values } = props;
  if (values.every((value) => value === null)) return null;
  const last = values.at(-1) ?? null;
  const most = Math.max(...values.map((value) => value ?? 0), 1e-9);
  const lines: string[][] = [[]];
  values.forEach((value, index) => {
    if (value === null) lines.push([]);
    else lines.at(-1)!.push(`${(index / (SPARKLINE_POINTS - 1)) * SPARKLINE_WIDTH},${SPARKLINE_HEIGHT - (value / most) * 32}`);
  });
  return (
    <div class="spark">
      <span class="quiet">{props.label}</span>
      <b>{last === null ? "–" : humanize(last, props.dimension)}</b>
      <svg viewBox="0 0 160 38" width={SPARKLINE_WIDTH} height="38" aria-hidden="true">
        {lines
          .filter((points) => points.length > 0)
          .map((points) => (
            <polyline key={points[0]} points={points.join(" ")} fill="none" stroke="currentColor" stroke-width="2" />
          ))}
      </svg>
    </div>
  );
}

/** The roles of each host of a testbed, and its current state. */
function Hosts(props: { hosts: Record<string, TestbedHost>; progress: Progress | null }) {
  const { hosts, progress } = props;
  const workers = new Map(progress?.workers.map((worker) => [worker.name, worker]));
  const stateOf = ([name, host]: [string, TestbedHost]) => {
    const worker = workers.get(name);
    return worker ? words(worker.state) : workers.size > 0 && host.roles.includes("service") ? "runs the service" : "–";
  };
  return (
    <div class="hosts">
      {progress?.lost && <p role="alert">{progress.lost}</p>}
      <ScrollTable label="Hosts of the testbed" caption="Each host" columns={["Host", "Roles", "State", "Throughput"]}>
        {Object.entries(hosts).map(([name, host]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{host.roles.join(" and ") || "–"}</td>
            <td>{stateOf([name, host])}</td>
            <td>{workers.get(name)?.throughput_per_s == null ? "–" : humanize(workers.get(name)!.throughput_per_s!, "rate")}</td>
          </tr>
        ))}
      </ScrollTable>
    </div>
  );
}

interface LoadHistory {
  /** The load that the values belong to. */
  load: string;
  throughput: (number | null)[];
  p99: (number | null)[];
}

/** The last values of the current load; the next one starts anew. */
function useHistory(progress: Progress | null): LoadHistory {
  const [history, setHistory] = useState<LoadHistory>({ load: "", throughput: [], p99: [] });
  const last = useRef("");
  useEffect(() => {
    if (!progress || progress.at === last.current) return;
    last.current = progress.at;
    const { service, contract, workload, throughput_per_s, response_time_ns_p99 } = progress;
    const load = [service?.service, service?.variant, contract, workload].join("/");
    setHistory((before) => {
      const kept = before.load === load ? before : { throughput: [], p99: [] };
      const add = (values: (number | null)[], value: number | null) => [...values, value].slice(-SPARKLINE_POINTS);
      return { load, throughput: add(kept.throughput, throughput_per_s), p99: add(kept.p99, response_time_ns_p99) };
    });
  }, [progress]);
  return history;
}

function CurrentState(props: { event: RunEvent; planned: number; hosts: Record<string, TestbedHost> }) {
  const { progress, trials } = props.event;
  const history = useHistory(progress);
  const now = progress?.service ? `${progress.service.service}/${progress.service.variant}` : null;
  const step = words(progress?.step ?? progress?.phase ?? "");
  // A workload often has the name of its contract.
  const position = [...new Set([now, progress?.contract, progress?.workload, step])].filter(Boolean).join(" · ");
  return (
    <section class="now" aria-label="Current state">
      <div>
        <p role="status">
          <b>
            {trials} of {props.planned} trials
          </b>
          {progress?.eta_s != null && <span class="quiet"> about {formatDuration(progress.eta_s)} left</span>}
        </p>
        <progress max={props.planned} value={trials} aria-label="Ended trials" />
        <p class="quiet">{position || "between two trials"}</p>
      </div>
      <Sparkline values={history.throughput} label="Throughput" dimension="rate" />
      <Sparkline values={history.p99} label="p99" dimension="time" />
      {Object.keys(props.hosts).length > 0 && <Hosts hosts={props.hosts} progress={progress} />}
    </section>
  );
}

export function LiveRun(props: { run: string }) {
  const { run } = props;
  const { event, lost } = useRunEvents(run);
  // A trial that has ended, and the end of the run, change the report.
  const key = event ? `${event.sequence} ${event.running}` : "";
  const request = useRequest(() => getJson<Report>(`/api/runs/${encodeURIComponent(run)}`), `${run} ${key}`);
  return (
    <Loaded request={request}>
      {(report) => (
        <>
          {lost !== null && (
            <p role="alert" class="stale">
              The connection to the server is lost since {formatTime(new Date(lost).toISOString())}: what follows may be out of date. Trying again …
            </p>
          )}
          {event?.running && <CurrentState event={event} planned={report.planned_trials} hosts={report.environment.hosts ?? {}} />}
          <ReportPage report={report} />
        </>
      )}
    </Loaded>
  );
}
