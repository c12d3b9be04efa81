// Warnings: which numbers they put in doubt, and which are only worth knowing. `crates/report` has the same; `tests/doubts.json` keeps both in step.

import { METRICS, type Group, type Metric, type Row, type Warning } from "./data.ts";

/** A doubt touches a number; a note does not. */
export type Level = "doubt" | "note";

const RATES: Metric[] = ["throughput_per_s", "goodput_per_s", "sequences_per_s", "messages_per_s"];
const TIMES: Metric[] = METRICS.filter((metric) => metric.startsWith("response_time") || metric.startsWith("first_message"));
const TAIL: Metric[] = ["response_time_ns_p99", "response_time_ns_p99_9", "response_time_ns_max"];
const CPU: Metric[] = ["cpu_ns_per_request", "cpus_busy"];

/** The numbers that each kind of warning puts in doubt. Kinds that are not listed are taken to doubt every number. */
const DOUBTED: Record<string, Metric[]> = {
  generator_saturated: [...RATES, ...TIMES],
  network_bound: [...RATES, ...TIMES],
  companion_bound: [...RATES, ...TIMES],
  schedule_lag: TIMES,
  rate_not_held: [...RATES, ...TIMES],
  connections_not_established: [...RATES, ...TIMES],
  streams_limited: [...RATES, ...TIMES],
  clock_step: [...RATES, ...TIMES],
  few_samples: TAIL,
  littles_law: TIMES,
  cpu_contradiction: ["cpu_ns_per_request"],
  survivors_only: TIMES,
  errors: [...RATES, ...TIMES],
  retried: [...RATES, ...TIMES],
  not_steady: [...RATES, ...TIMES, ...CPU],
  slowing_down: [...RATES, ...TIMES, ...CPU],
  noise: [...RATES, ...TIMES, ...CPU],
  shared_cpus: [...RATES, ...TIMES],
  workers_disagree: [...RATES, ...TIMES],
  start_spread: [...RATES, ...TIMES],
  // What is worth knowing, and changes no number.
  connection_closed: [],
  missing_header: [],
  environment: [],
  few_trials: [],
  one_cpu: [],
  repeated: [],
  budget_spent: [],
  interrupted: [],
  note: [],
};

const NO_METRIC: Metric[] = [];

/** The numbers that a warning puts in doubt. */
export const doubtedBy = (warning: Warning): readonly Metric[] => (Object.hasOwn(DOUBTED, warning.kind) ? (DOUBTED[warning.kind] ?? NO_METRIC) : METRICS);

const GROUPS: [string, Metric[]][] = [
  ["rates", RATES],
  ["response times", TIMES],
  ["response times from p99 on", TAIL],
  ["CPU", CPU],
];

/** The same in words. */
export function doubtedInWords(warning: Warning): string {
  const doubted = doubtedBy(warning);
  if (doubted.length === METRICS.length) return "every number";
  const named = GROUPS.filter(([, metrics]) => metrics.every((metric) => doubted.includes(metric)) && (metrics !== TAIL || doubted.length === TAIL.length));
  return named.map(([name]) => name).join(", ");
}

export const levelOf = (warning: Warning): Level => (doubtedBy(warning).length > 0 ? "doubt" : "note");

/** Doubts first, otherwise in the order in which they were told. */
export const byLevel = (warnings: Warning[]): Warning[] => [
  ...warnings.filter((warning) => levelOf(warning) === "doubt"),
  ...warnings.filter((warning) => levelOf(warning) === "note"),
];

/** Kinds that speak of the machine more than of the service: those of all services count as said, whatever their numbers. */
const OF_THE_MACHINE = ["schedule_lag", "not_steady", "noise", "repeated"];

/** The warnings of a row that its group does not say for all services. */
export const ownWarnings = (group: Group, row: Row): Warning[] =>
  row.warnings.filter(({ kind, text }) => {
    if (kind === "generator_saturated") return !row.generator_bound;
    return !group.warnings.some((said) => said.kind === kind && (said.text.endsWith(text) || OF_THE_MACHINE.includes(kind)));
  });

/** The own warnings of a row that doubt this number of it. */
export const doubtsOf = (group: Group, row: Row, metric: Metric): Warning[] =>
  row.warnings.length === 0 ? row.warnings : ownWarnings(group, row).filter((warning) => doubtedBy(warning).includes(metric));
