// The report as `prony report --format json` writes it. prony guarantees the keys; this file mirrors them.

export interface Estimate {
  point: number;
  low: number;
  high: number;
}

/** A percentile that falls on a request without a valid reply in this number of trials: it has no bound. */
export interface NoBound {
  without_bound: number;
  trials: number;
}

/** Two or more trials give an estimate; fewer give only the observed values. */
export type Quantity = Estimate | { observed: number[] } | NoBound;

/** A percentile of all requests: ns, a lower bound in ns, or none. */
export type Percentile = number | { at_least: number } | "no_bound";

export type Level = "invalid" | "warning" | "note";

/** Properties of the kind are absent in JSON of an older version. */
export interface Warning {
  kind: string;
  text: string;
  advice?: string;
  level?: Level;
  affects?: string[];
  bottleneck?: string;
  scope?: "service" | "machine";
  sentence?: string;
}

export type MetricTable = Record<string, { title: string; unit: string; better: string; figures: string[] }>;

export interface Exclusion {
  stage: string;
  reason: string;
  log_tail?: string[];
}

export const METRICS = [
  "throughput_per_s",
  "goodput_per_s",
  "offered_per_s",
  "sequences_per_s",
  "response_time_ns_mean",
  "response_time_ns_p50",
  "response_time_ns_p75",
  "response_time_ns_p90",
  "response_time_ns_p95",
  "response_time_ns_p99",
  "response_time_ns_p99_9",
  "response_time_ns_max",
  "cpu_ns_per_request",
  "backing_service_cpu_ns_per_request",
  "cpus_busy",
  "memory_bytes_peak",
  "memory_bytes_mean",
  "memory_bytes_idle",
  "memory_bytes_first_reply",
  "memory_bytes_after_load",
  "anonymous_bytes_idle",
  "file_bytes_idle",
  "artefact_bytes_used",
  "artefact_bytes",
  "start_ms",
  "listening_ms",
  "start_cpu_ns",
  "steady_rate_s",
  "messages_per_s",
  "first_message_ns_p50",
  "first_message_ns_p99",
  "overhead_first_ns_p50",
  "overhead_first_ns_p99",
  "overhead_gap_ns_p50",
  "overhead_gap_ns_p99",
  "overhead_last_ns_p50",
  "overhead_last_ns_p99",
  "cpu_ns_per_event",
  "memory_bytes_per_stream",
] as const;

export type Metric = (typeof METRICS)[number];

export interface SeriesInterval {
  at_s: number;
  throughput_per_s: number;
  /** Only for streams. */
  messages_per_s?: number;
  /** Only if there were any. */
  errors_per_s?: number;
  response_time_ns_p99: number | null;
}

/** The response times of a part of the measurement: replies in each bin from the first on. */
export interface Distribution {
  start_s: number;
  length_s: number;
  first_bin: number;
  counts: number[];
}

export interface SeriesResource {
  at_s: number;
  cpus_busy: number | null;
  memory_bytes: number | null;
}

/** One trial over time; times below 0 are warm-up. */
export interface Series {
  round: number;
  duration_s: number;
  warm_up_s: number | null;
  classification: string | null;
  intervals: SeriesInterval[];
  resources: SeriesResource[];
  /** Absent in a report of an older version, and in one of very many services. */
  distributions?: Distribution[];
}

export interface OperationRow {
  name: string;
  completed: number;
  errors: number;
  response_time_ns_p50: Percentile | null;
  response_time_ns_p99: Percentile | null;
}

export interface Times {
  p50: number;
  p99: number;
  max: number;
}

/** The messages of the streams of a trial; the gaps between them are not known for gRPC. */
export interface Messages {
  received: number;
  first_ns: Times | null;
  last_ns: Times | null;
  gap_ns?: Times | null;
  ids?: { missing: number; doubled: number; late: number } | null;
  streams?: { ended_early: number; cut: number } | null;
  /** Only for answers of a language model; `itl_ns` is the name of `tpot_ns` in older reports. */
  llm?: { ttft_ns: Times | null; tpot_ns?: Times | null; itl_ns?: Times | null; usage: { per_s: number } | null };
}

/** A backing service in a trial, and its resource use. */
export interface BackingPoint {
  title: string;
  version: string | null;
  cpu_ns_per_request: number | null;
  memory_bytes_peak: number | null;
  disk_written_bytes: number | null;
  /** The service's connections: how many at a time, by what they waited for. */
  watched: { connections_most: number; connections: Record<string, number> } | null;
}

/** A check in a backing service after the load of a trial. */
export interface AfterLoad {
  name: string;
  backing_service: string;
  equals: string;
  low: number;
  high: number;
  found: number;
}

export type TrialPoint = {
  round: number;
  started_at: string;
  /** Position in the order of the whole run, from 0. */
  order?: number;
  /** Time that the hypervisor took from the machine during the measurement, ns. */
  steal_ns?: number;
  /** CPU time of everything else on the machine during the measurement, ns. */
  other_cpu_ns?: number;
  /** How its warm-up ended, and its length, s. */
  warm_up?: { classification: string; light_s?: number; planned_s: number };
  /** Share of the compiler threads in the CPU time of the service. */
  compiler_share?: number;
  generator_cpu_s?: number;
  /** Requests in flight on average, under a closed load. */
  in_flight?: number;
  messages?: Messages;
  backing_services?: BackingPoint[];
  after?: AfterLoad[];
  /** Results of each worker; absent if one machine made the load. */
  workers?: WorkerRow[];
  /** Why there is no measurement. */
  excluded?: string | null;
} & { [metric in Metric]?: number | "no_bound" };

/** A window of a service that was interleaved with others. */
export interface Window {
  round: number;
  /** Windows of the same round and cycle are within seconds of each other. */
  cycle: number;
  cpu_ns_per_request: number | null;
  goodput_per_s: number;
  /** CPUs kept busy by anything but the service and the generator, including the hypervisor. */
  others_cpus: number | null;
  /** CPU time of the CPU speed probe: the longer, the slower the service's CPUs were. */
  cpu_speed_probe_ns: number | null;
}

export interface Details {
  /** Share of the requests, and the response time in ns that it does not exceed. */
  response_time_curve: [number, number][];
  /** Lower and upper bound in ns, and the share of the requests between them. */
  response_time_density: [number, number, number][];
  outcomes: Record<string, number>;
  operations: OperationRow[];
  points: TrialPoint[];
  series: Series | null;
  /** The windows, if it was interleaved with others. */
  interleaved?: Window[];
  service_cpus: number[];
  generator_cpus: number[];
}

/** What TLS costs a service. */
export interface TlsCost {
  /** Rounds in which it was measured over TLS and in clear. */
  pairs: number;
  /** Over TLS ÷ in clear. */
  cpu_ratio: Estimate | null;
  goodput_ratio: Estimate | null;
  handshake_cpu_ns: Estimate | null;
  /** Share of the handshakes that resumed a session. */
  resumed_share: number | null;
  agreed: { version: string; cipher_suite: string; key_exchange: string | null; protocol: string | null } | null;
}

export type Row = {
  service: string;
  variant: string;
  rank: number | null;
  /** The generator was the limit: rates are lower bounds. */
  generator_bound: boolean;
  /** The ranks that the data allows, both ends included. */
  rank_low: number | null;
  rank_high: number | null;
  /** Lower bounds only, since their ratios are unknown: the services that are not proven to differ. */
  tied_with?: string[];
  /** The value of the ranked metric over that of the first service, within the same rounds. */
  ratio_to_first?: Estimate;
  /** Capacity: the rate that a further start sustains, with the confidence of the intervals. */
  sustained_per_s?: number;
  /** Over TLS only. */
  tls?: TlsCost;
  /** What it costs more than the service that does the same without a package. */
  over_baseline?: { baseline: string; cpu_ns_per_request: Estimate; ratio: Estimate };
  /** In the group with the most connections, bytes. */
  memory_bytes_per_connection?: Estimate;
  trials: number;
  failed_trials: number;
  bytes_per_reply: number | null;
  warnings: Warning[];
  excluded: Exclusion | null;
  details: Details | null;
} & { [metric in Metric]?: Quantity | null };

export type Verdict = "faster" | "slower" | "same" | "cannot_tell";

/** All pairs of a group as codes; `Comparisons` decodes them. */
export interface PackedPairs {
  /** The ranked services in order. */
  ids: string[];
  /** The natural logarithm of each value over that of the first. */
  logs: number[];
  /** A letter for each pair `i < j`, row by row: f, s, e (the same), c (cannot tell), and a dot where there is none. */
  verdicts: string;
  /** Three letters for each pair: the half-width of its interval on the log scale. */
  reach: string;
}

export interface Group {
  contract: string;
  workload: string;
  load: Record<string, unknown>;
  /** The load in words. */
  load_text: string;
  /** Requests offered per second, if the load has a fixed rate. */
  offered_per_s: number | null;
  /** The highest rate that any service can reach, if a backend limits it. */
  ceiling_per_s: number | null;
  ceiling_text: string | null;
  ranked_by: Metric;
  /** Relative difference up to which services count as equal. */
  tie_band: number;
  /** Display names of the backing services; absent if there are none. */
  backing_services?: string[];
  /** The result in a sentence. */
  finding: string;
  services: Row[];
  pairs: PackedPairs;
  warnings: Warning[];
}

export interface ServiceInfo {
  service: string;
  variant: string;
  title: string;
  language: string;
  framework: string;
  class: string;
  version: string | null;
  /** How it uses CPUs, in words. */
  workers: string | null;
  note: string | null;
  pinned: boolean;
  /** With its digest. */
  image?: string | null;
  /** The folder of its source, relative to the root of the project. */
  source?: string | null;
  /** Shell commands. */
  build?: string[];
  start?: string | null;
}

export interface Environment {
  prony: string;
  commit?: string | null;
  /** URL. */
  repository?: string | null;
  os?: string | null;
  kernel?: string | null;
  cpu: {
    model?: string | null;
    online: number;
    cores?: number | null;
    smt?: boolean | null;
    governor?: string | null;
    turbo?: boolean | null;
  };
  memory_bytes?: number | null;
  /** Memory limit of prony's control group, if it is lower. */
  memory_limit_bytes?: number | null;
  memory_available_bytes?: number | null;
  virtualisation?: string | null;
  cgroup?: string | null;
  load_average?: number | null;
  runtimes?: Record<string, string>;
  findings?: { text: string; remedy: string }[];
  /** The hosts of a testbed, by name; absent if one machine did everything. */
  hosts?: Record<string, TestbedHost>;
  /** Measurements of the network between hosts before the run. */
  links?: { from: string; to: string; round_trip_ns: number; bits_per_s: number }[];
}

export interface TestbedHost {
  /** `service`, `load`, `backing service`. */
  roles: string[];
  address: string;
  cpus: number[];
  environment: Environment;
}

/** Results of one of several workers in a trial. */
export interface WorkerRow {
  name: string;
  throughput_per_s: number;
  response_time_ns_p50?: number | null;
  response_time_ns_p99?: number | null;
  own_lag_ns_p99?: number | null;
  cpu_s: number;
  busiest_thread: number;
}

export interface ServiceCheck {
  service: string;
  variant: string;
  contract: string;
  /** The protocol: `http`, `http2`, `grpc`. */
  protocol?: string;
  passed: boolean;
  cases: string[];
  /** The operations of each case. */
  operations?: Record<string, string[]>;
  failures: { case: string; expected: string; got: string }[];
  warnings: string[];
  /** Whether the service has each trait of the contract, which is no condition for passing. */
  traits?: Record<string, boolean>;
  unavailable: string | null;
}

export interface ReferenceRow {
  source: string;
  contract: string;
  workload: string;
  /** The name as the source prints it. */
  name: string;
  /** Our corresponding service; null if it was not measured. */
  service: string | null;
  variant: string | null;
  /** Our closest load, in words. */
  load_text: string;
  throughput_per_s: number | null;
  /** All published figures that we estimate too. */
  figures: { metric: Metric; published: number; ours: number | null }[];
  notes: string[];
}

/** Agreement between the published order and ours, in one group. */
export interface Agreement {
  source: string;
  contract: string;
  workload: string;
  load_text: string;
  services: number;
  /** Spearman's rank correlation, -1 to 1; absent with fewer than three services. */
  rank_correlation: number | null;
}

export interface Report {
  schema: number;
  run: string;
  suite: string;
  started_at: string;
  ended_at: string | null;
  /** `ended`, `running` or `unfinished`. */
  state: string;
  planned_trials: number;
  trials: number;
  seed: string;
  confidence: number;
  environment: Environment;
  method: string[];
  services: ServiceInfo[];
  groups: Group[];
  checks: { schema: number; services: ServiceCheck[] } | null;
  reference: ReferenceRow[];
  agreement: Agreement[];
  metrics?: MetricTable;
  warnings: Warning[];
  /** The label of the run, if the page is served and there is one. */
  label?: string | null;
  /** Links if the page is part of a site: to its first page, and to the page of each service, relative to this one. */
  site?: { home: string; services: Record<string, string> };
}

export const idOf = (row: { service: string; variant: string | null }): string =>
  row.variant === null ? row.service : `${row.service}/${row.variant}`;

/** Whether a value of the row is a lower bound: a rate that the generator limited. */
export const isLowerBound = (row: Row, figure: string): boolean => row.generator_bound && figure.endsWith("_per_s");

export const isEstimate = (quantity: Quantity | null | undefined): quantity is Estimate =>
  quantity != null && "point" in quantity;

export const hasNoBound = (quantity: Quantity | null | undefined): quantity is NoBound => quantity != null && "without_bound" in quantity;

/** `no bound`, or the number of trials that have none. */
export const noBound = (none: NoBound): string =>
  none.without_bound === none.trials ? "no bound" : `no bound in ${none.without_bound} of ${none.trials} trials`;

/** Position of a quantity for sorting and charts: the point, or the value of the only trial. */
export function positionOf(quantity: Quantity | null | undefined): number | null {
  if (quantity == null || hasNoBound(quantity)) return null;
  return "point" in quantity ? quantity.point : (quantity.observed[0] ?? null);
}

/** The report embedded in this page, compressed if it is long; null if the page is served and requests its data. */
export async function embeddedReport(): Promise<Report | null> {
  const element = document.getElementById("prony-data");
  const text = element?.textContent ?? "null";
  if (element?.getAttribute("type") !== "application/gzip") return JSON.parse(text) as Report | null;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as Report;
}

/** Metadata of services; a service without metadata still has a name. */
export class Services {
  private readonly byId: Map<string, ServiceInfo>;
  private readonly byTitle = new Map<string, ServiceInfo[]>();

  /** `pages` has the page of each service, if there are any. */
  constructor(
    infos: ServiceInfo[],
    private readonly pages: Record<string, string> = {},
  ) {
    this.byId = new Map(infos.map((info) => [idOf(info), info]));
    for (const info of infos) this.byTitle.set(info.title, [...(this.byTitle.get(info.title) ?? []), info]);
  }

  info(id: string): ServiceInfo | undefined {
    return this.byId.get(id);
  }

  /** The page of the service over all rankings; undefined if this page is not part of a site. */
  page(id: string): string | undefined {
    return Object.hasOwn(this.pages, id) ? this.pages[id] : undefined;
  }

  /** A name that is unique on the page: the title, with the variant if several services share it. */
  name(id: string): string {
    const info = this.byId.get(id);
    if (!info) return id;
    const others = this.byTitle.get(info.title) ?? [];
    if (others.length < 2) return info.title;
    return others.some((other) => other.service !== info.service)
      ? `${info.service} (${info.variant})`
      : `${info.title} (${info.variant})`;
  }
}
