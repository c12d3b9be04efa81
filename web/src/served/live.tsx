// One run: its report and, while it is in progress, its current state.

import { useEffect, useRef, useState } from "preact/hooks";
import type { TestbedHost, Report } from "../data.ts";
import { formatDuration, humanize, words } from "../format.ts";
import { ScrollTable } from "../parts/elements.tsx";
import { ReportPage } from "../parts/page.tsx";
import { getJson, Loaded, useRequest, type Progress, type RunEvent } from "./api.tsx";

/** Points of a sparkline: about a minute. */
const SPARKLINE_POINTS = 60;

/** Receives the progress of the run until it ends. */
function useRunEvents(run: string): RunEvent | null {
  const [event, setEvent] = useState<RunEvent | null>(null);
  useEffect(() => {
    const source = new EventSource(`/api/runs/${encodeURIComponent(run)}/events`);
    source.addEventListener("progress", (message) => {
      const event = JSON.parse((message as MessageEvent<string>).data) as RunEvent;
      setEvent(event);
      if (!event.running) source.close();
    });
    return () => source.close();
  }, [run]);
  return event;
}

function Sparkline(props: { values: number[]; label: string; text: string }) {
  const { values } = props;
  const most = Math.max(...values, 1e-9);
  const points = values.map((value, index) => `${(index / Math.max(1, SPARKLINE_POINTS - 1)) * 160},${36 - (value / most) * 32}`).join(" ");
  return (
    <div class="spark">
      <span class="quiet">{props.label}</span>
      <b>{props.text}</b>
      <svg viewBox="0 0 160 38" width="160" height="38" aria-hidden="true">
        <polyline points={points} fill="none" stroke="currentColor" stroke-width="2" />
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

function CurrentState(props: { event: RunEvent; planned: number; hosts: Record<string, TestbedHost> }) {
  const { progress, trials } = props.event;
  const [history, setHistory] = useState<{ throughput: number[]; p99: number[] }>({ throughput: [], p99: [] });
  const last = useRef("");
  useEffect(() => {
    if (!progress || progress.at === last.current) return;
    last.current = progress.at;
    const add = (values: number[], value: number | null) => (value === null ? values : [...values, value].slice(-SPARKLINE_POINTS));
    setHistory({ throughput: add(history.throughput, progress.throughput_per_s), p99: add(history.p99, progress.response_time_ns_p99) });
  }, [progress]);
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
      {progress?.throughput_per_s != null && <Sparkline values={history.throughput} label="Throughput" text={humanize(progress.throughput_per_s, "rate")} />}
      {progress?.response_time_ns_p99 != null && <Sparkline values={history.p99} label="p99" text={humanize(progress.response_time_ns_p99, "time")} />}
      {Object.keys(props.hosts).length > 0 && <Hosts hosts={props.hosts} progress={progress} />}
    </section>
  );
}

export function LiveRun(props: { run: string }) {
  const { run } = props;
  const event = useRunEvents(run);
  // A trial that has ended, and the end of the run, change the report.
  const key = event ? `${event.sequence} ${event.running}` : "";
  const request = useRequest(() => getJson<Report>(`/api/runs/${encodeURIComponent(run)}`), `${run} ${key}`);
  return (
    <Loaded request={request}>
      {(report) => (
        <>
          {event?.running && <CurrentState event={event} planned={report.planned_trials} hosts={report.environment.hosts ?? {}} />}
          <ReportPage report={report} />
        </>
      )}
    </Loaded>
  );
}
