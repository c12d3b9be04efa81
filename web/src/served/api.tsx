// The requests of a served page to its server, and their state while the page waits for them.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Estimate, Metric, Quantity, ServiceInfo, Verdict } from "../data.ts";
import { Prose } from "../parts/elements.tsx";

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
  run: string;
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

export type HistoryPoint = {
  run: string;
  started_at: string;
  trials: number;
  excluded: string | null;
  /** Whether it was made in the circumstances of the newest run. */
  alike: boolean;
  /** How they differ. */
  differences: string[];
} & { [metric in Metric]?: Quantity | null };

/** The run from which on a metric was different. */
export interface ChangePoint {
  metric: Metric;
  run: string;
  /** The level after it divided by the level before. */
  ratio: Estimate | null;
}

/** A change that someone accepted, with the reason. */
export interface AcceptedChange extends ServiceKey {
  workload: string;
  load_id: string;
  metric: Metric;
  run: string;
  note: string;
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

/** A refusal of the server, which it would repeat. */
class Refusal extends Error {}

async function request(path: string, options?: RequestInit): Promise<Response> {
  const reply = await fetch(path, options).catch(() => {
    throw new Error("the server does not answer: is `prony serve` still running?");
  });
  if (reply.ok) return reply;
  const reason = await reasonOf(reply);
  throw reply.status < 500 ? new Refusal(reason) : new Error(reason);
}

/** Requests JSON; a refusal becomes an error with the server's own words. */
export const getJson = async <T,>(path: string): Promise<T> => (await (await request(path)).json()) as T;

/** Reads lines of JSON while they arrive; `take` gets those of each piece. */
export async function readLines<T>(path: string, signal: AbortSignal, take: (values: T[]) => void): Promise<void> {
  const reader = (await request(path, { signal })).body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop()!;
    if (lines.length > 0) take(lines.map((line) => JSON.parse(line) as T));
  }
}

/**
 * Requests a change. The server checks the origin of this page, which the browser sends in the default mode.
 */
export async function send(method: "PUT" | "POST" | "DELETE", path: string, body?: unknown): Promise<void> {
  const content = body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  await request(path, { method, ...content });
}

export const runPath = (run: string): string => `/run/${encodeURIComponent(run)}`;

export const servicePath = (key: ServiceKey): string =>
  `/service/${[key.service, key.variant, key.contract].map(encodeURIComponent).join("/")}`;

type RequestState<T> =
  | { state: "loading" }
  | { state: "failed"; reason: string }
  /** `stale` is why there is no newer value. */
  | { state: "loaded"; value: T; stale: string | null };

/** Pause before a request that failed is repeated, ms. */
const RETRY_MS = 3000;

/**
 * Requests once, again whenever `key` changes, and again and again if there is a pause for that, ms. The previous value stays
 * until the next one arrives, and if none does. A hidden page requests nothing.
 */
export function useRequest<T>(load: () => Promise<T>, key: unknown, pause?: number): RequestState<T> {
  const [request, setRequest] = useState<RequestState<T>>({ state: "loading" });
  useEffect(() => {
    let current = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = (delay: number) => {
      if (current) timer = setTimeout(() => (document.hidden ? again(delay) : void ask()), delay);
    };
    const ask = async () => {
      try {
        const value = await load();
        if (current) setRequest({ state: "loaded", value, stale: null });
        if (pause !== undefined) again(pause);
      } catch (error) {
        const reason = (error as Error).message;
        if (current) setRequest((before) => (before.state === "loaded" ? { ...before, stale: reason } : { state: "failed", reason }));
        if (!(error instanceof Refusal)) again(RETRY_MS);
      }
    };
    void ask();
    return () => {
      current = false;
      clearTimeout(timer);
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
        <p role="alert">
          <Prose text={request.reason} />
        </p>
      </>
    );
  return (
    <>
      {request.stale !== null && (
        <p role="alert" class="stale">
          This may be out of date: <Prose text={request.stale} />
        </p>
      )}
      {props.children(request.value)}
    </>
  );
}
