// One run: its report and, while it is in progress, its current state.

import { useEffect, useRef, useState } from "preact/hooks";
import type { TestbedHost, Report } from "../data.ts";
import { howLong, human, words } from "../format.ts";
import { TableHead } from "../parts/elements.tsx";
import { ReportPage } from "../parts/page.tsx";
import { ask, Shown, useAnswer, type News, type Progress } from "./api.tsx";

/** Points of a sparkline: about a minute. */
const KEPT = 60;

/** Receives the progress of the run until it ends. */
function useNews(run: string): News | null {
  const [news, setNews] = useState<News | null>(null);
  useEffect(() => {
    const source = new EventSource(`/api/runs/${encodeURIComponent(run)}/events`);
    source.addEventListener("progress", (event) => {
      const heard = JSON.parse((event as MessageEvent<string>).data) as News;
      setNews(heard);
      if (!heard.running) source.close();
    });
    return () => source.close();
  }, [run]);
  return news;
}

function Sparkline(props: { values: number[]; label: string; text: string }) {
  const { values } = props;
  const most = Math.max(...values, 1e-9);
  const points = values.map((value, index) => `${(index / Math.max(1, KEPT - 1)) * 160},${36 - (value / most) * 32}`).join(" ");
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
  const doing = ([name, host]: [string, TestbedHost]) => {
    const worker = workers.get(name);
    return worker ? words(worker.state) : workers.size > 0 && host.roles.includes("service") ? "runs the service" : "–";
  };
  return (
    <div class="hosts" tabIndex={0} role="region" aria-label="Hosts of the testbed">
      {progress?.lost && <p role="alert">{progress.lost}</p>}
      <table class="plain">
        <caption>Each host</caption>
        <TableHead columns={["Host", "Roles", "State", "Throughput"]} />
        <tbody>
          {Object.entries(hosts).map(([name, host]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{host.roles.join(" and ") || "–"}</td>
              <td>{doing([name, host])}</td>
              <td>{workers.get(name)?.throughput_per_s == null ? "–" : human(workers.get(name)!.throughput_per_s!, "rate")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Now(props: { news: News; planned: number; hosts: Record<string, TestbedHost> }) {
  const { progress, trials } = props.news;
  const [seen, setSeen] = useState<{ throughput: number[]; p99: number[] }>({ throughput: [], p99: [] });
  const last = useRef("");
  useEffect(() => {
    if (!progress || progress.at === last.current) return;
    last.current = progress.at;
    const add = (values: number[], value: number | null) => (value === null ? values : [...values, value].slice(-KEPT));
    setSeen({ throughput: add(seen.throughput, progress.throughput_per_s), p99: add(seen.p99, progress.response_time_ns_p99) });
  }, [progress]);
  const now = progress?.service ? `${progress.service.service}/${progress.service.variant}` : null;
  const step = words(progress?.step ?? progress?.phase ?? "");
  // A workload often has the name of its contract.
  const doing = [...new Set([now, progress?.contract, progress?.workload, step])].filter(Boolean).join(" · ");
  return (
    <section class="now" aria-label="Current state">
      <div>
        <p role="status">
          <b>
            {trials} of {props.planned} trials
          </b>
          {progress?.eta_s != null && <span class="quiet"> about {howLong(progress.eta_s)} left</span>}
        </p>
        <progress max={props.planned} value={trials} aria-label="Ended trials" />
        <p class="quiet">{doing || "between two trials"}</p>
      </div>
      {progress?.throughput_per_s != null && <Sparkline values={seen.throughput} label="Throughput" text={human(progress.throughput_per_s, "rate")} />}
      {progress?.response_time_ns_p99 != null && <Sparkline values={seen.p99} label="p99" text={human(progress.response_time_ns_p99, "time")} />}
      {Object.keys(props.hosts).length > 0 && <Hosts hosts={props.hosts} progress={progress} />}
    </section>
  );
}

export function LiveRun(props: { run: string }) {
  const { run } = props;
  const news = useNews(run);
  // A trial that has ended, and the end of the run, change the report.
  const key = news ? `${news.sequence} ${news.running}` : "";
  const answer = useAnswer(() => ask<Report>(`/api/runs/${encodeURIComponent(run)}`), `${run} ${key}`);
  return (
    <Shown answer={answer}>
      {(report) => (
        <>
          {news?.running && <Now news={news} planned={report.planned_trials} hosts={report.environment.hosts ?? {}} />}
          <ReportPage report={report} />
        </>
      )}
    </Shown>
  );
}
