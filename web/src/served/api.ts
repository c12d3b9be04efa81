// What a served page asks its server for.

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
  /** What people call it. */
  label: string | null;
  /** Services and workloads in a line. */
  compared?: string | null;
}

/** What came out of a run, and how many further boards it has. */
export interface RunAnswer {
  answer: string | null;
  more: number;
}

/** What a worker of a lab does now. */
export interface WorkerNow {
  name: string;
  state: "starting" | "warm_up" | "measurement" | "drain" | "done" | "silent";
  /** `null` where it told of none of late. */
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
  /** Empty between two loads, and without a lab. */
  workers: WorkerNow[];
  /** Why a host of the lab is lost, until load is made again. */
  lost: string | null;
}

export interface News {
  running: boolean;
  trials: number;
  sequence: number;
  progress: Progress | null;
}

export interface Known {
  service: string;
  variant: string;
  contract: string;
}

export interface Past {
  run: string;
  started_at: string;
  trials: number;
  excluded: string | null;
  goodput_per_s: Quantity | null;
  response_time_ns_p99: Quantity | null;
  cpu_ns_per_request: Quantity | null;
  memory_bytes_peak: Quantity | null;
}

/** From which run on a metric was different. */
export interface ChangePoint {
  metric: Metric;
  run: string;
  /** Level after it over level before. */
  ratio: Estimate | null;
}

export interface Line {
  workload: string;
  load_text: string;
  runs: Past[];
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

export interface Compared {
  base: ComparedRun;
  new: ComparedRun;
  confidence: number;
  /** In what the circumstances differ, so that a difference need not be one of the services. */
  mismatches: string[];
  groups: GroupChange[];
  /** The load of each group, in words. */
  load_texts: string[];
  missing: string[];
  services: ServiceInfo[];
}

/** What this page may do. */
export interface Rights {
  change: boolean;
}

/** Why the server refused, in its own words. */
async function reasonOf(reply: Response): Promise<string> {
  const text = await reply.text();
  try {
    return (JSON.parse(text) as { error?: string }).error ?? text;
  } catch {
    return text.trim() || `the server answered ${reply.status}`;
  }
}

/** Asks for JSON; a refusal becomes an error with the server's own words. */
export async function ask<T>(path: string): Promise<T> {
  const reply = await fetch(path);
  if (!reply.ok) throw new Error(await reasonOf(reply));
  return (await reply.json()) as T;
}

/** Asks the server to change something. It wants to see the origin of this page, which the browser names in the mode that is usual. */
export async function change(method: "PUT" | "DELETE", path: string, body?: unknown): Promise<void> {
  const told = body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const reply = await fetch(path, { method, ...told });
  if (!reply.ok) throw new Error(await reasonOf(reply));
}

export const runPath = (run: string): string => `/run/${encodeURIComponent(run)}`;

export const servicePath = (known: Known): string =>
  `/service/${[known.service, known.variant, known.contract].map(encodeURIComponent).join("/")}`;
