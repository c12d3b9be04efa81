// The requests of a served page to its server, and their state while the page waits for them.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Estimate, Metric, Quantity, ServiceInfo, Verdict } from "../data.ts";

export interface ListedRun {
  id: string;
  suite: string;
  started_at: string;
  ended_at: string | null;
  planned_trials: number;
  trials: number;
  excluded_trials: number;
  running: boolean;
  label: string | null;
  /** Whether it came from another store. */
  imported?: boolean;
  /** Services and workloads on one line. */
  compared?: string | null;
}

/** The result of a run, and the number of its further rankings. */
export interface RunAnswer {
  answer: string | null;
  more: number;
}

export interface WorkerState {
  name: string;
  state: "starting" | "warm_up" | "measurement" | "drain" | "done" | "silent";
  /** `null` if it has not reported any recently. */
  throughput_per_s: number | null;
}

export interface Progress {
  at: string;
  done: number;
  planned: number;
  eta_s: number | null;
  service: { service: string; variant: string } | null;
  contract: string | null;
  workload: string | null;
  step: string | null;
  phase: string | null;
  throughput_per_s: number | null;
  response_time_ns_p99: number | null;
  /** Empty between two loads, and without a testbed. */
  workers: WorkerState[];
  /** Why a host of the testbed is lost, until the load starts again. */
  lost: string | null;
}

export interface RunEvent {
  running: boolean;
  trials: number;
  sequence: number;
  progress: Progress | null;
}

export interface ServiceKey {
  service: string;
  variant: string;
  contract: string;
}

export interface HistoryPoint {
  run: string;
  started_at: string;
  trials: number;
  excluded: string | null;
  /** Whether it was made in the circumstances of the newest run. */
  alike: boolean;
  /** How they differ. */
  differences: string[];
  goodput_per_s: Quantity | null;
  response_time_ns_p99: Quantity | null;
  cpu_ns_per_request: Quantity | null;
  memory_bytes_peak: Quantity | null;
}

/** The run from which on a metric was different. */
export interface ChangePoint {
  metric: Metric;
  run: string;
  /** The level after it divided by the level before. */
  ratio: Estimate | null;
}

export interface HistoryLine {
  suite: string;
  /** The URL of saved loads. */
  target?: string;
  workload: string;
  load_id: string;
  load_text: string;
  runs: HistoryPoint[];
  changes: ChangePoint[];
}

export interface ComparedRun {
  id: string;
  suite: string;
  started_at: string;
}

export interface Change {
  metric: Metric;
  base: Estimate;
  new: Estimate;
  ratio: Estimate;
  verdict: Verdict;
  regressed: boolean;
}

export interface GroupChange {
  contract: string;
  workload: string;
  services: { service: string; changes: Change[] }[];
}

export interface RunComparison {
  base: ComparedRun;
  new: ComparedRun;
  confidence: number;
  /** Differences in the conditions of the runs, which may explain a difference between services. */
  mismatches: string[];
  groups: GroupChange[];
  /** The load of each group, in words. */
  load_texts: string[];
  missing: string[];
  services: ServiceInfo[];
}

export interface Permissions {
  change: boolean;
}

/** The server's reason for a refusal, in its own words. */
async function reasonOf(reply: Response): Promise<string> {
  const text = await reply.text();
  try {
    return (JSON.parse(text) as { error?: string }).error ?? text;
  } catch {
    return text.trim() || `the server answered ${reply.status}`;
  }
}

/** Requests JSON; a refusal becomes an error with the server's own words. */
export async function getJson<T>(path: string): Promise<T> {
  const reply = await fetch(path);
  if (!reply.ok) throw new Error(await reasonOf(reply));
  return (await reply.json()) as T;
}

/**
 * Requests a change. The server checks the origin of this page, which the browser sends in the default mode.
 */
export async function send(method: "PUT" | "DELETE", path: string, body?: unknown): Promise<void> {
  const content = body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const reply = await fetch(path, { method, ...content });
  if (!reply.ok) throw new Error(await reasonOf(reply));
}

export const runPath = (run: string): string => `/run/${encodeURIComponent(run)}`;

export const servicePath = (key: ServiceKey): string =>
  `/service/${[key.service, key.variant, key.contract].map(encodeURIComponent).join("/")}`;

type RequestState<T> = { state: "loading" } | { state: "failed"; reason: string } | { state: "loaded"; value: T };

/** Requests once, and again whenever `key` changes; the previous value stays until the new one arrives. */
export function useRequest<T>(load: () => Promise<T>, key: unknown): RequestState<T> {
  const [request, setRequest] = useState<RequestState<T>>({ state: "loading" });
  useEffect(() => {
    let current = true;
    load().then(
      (value) => current && setRequest({ state: "loaded", value }),
      (error: Error) => current && setRequest({ state: "failed", reason: error.message }),
    );
    return () => {
      current = false;
    };
  }, [key]);
  return request;
}

/** Shows the value, or that it is loading, or why there is none. */
export function Loaded<T>(props: { request: RequestState<T>; children: (value: T) => ComponentChildren }) {
  const { request } = props;
  if (request.state === "loading") return <p class="quiet" role="status">Loading …</p>;
  if (request.state === "failed")
    return (
      <>
        <h1>This cannot be shown</h1>
        <p role="alert">{request.reason}</p>
      </>
    );
  return <>{props.children(request.value)}</>;
}
