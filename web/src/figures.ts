// The numbers of a row that its table can show: metrics, and what prony derives from several of them.

import { METRICS, type Metric, type Quantity, type Row } from "./data.ts";
import type { Dimension } from "./format.ts";
import { METRIC, type MetricInfo } from "./metrics.ts";

interface DerivedInfo extends MetricInfo {
  /** The warnings of this metric affect it too. */
  like: Metric;
  /** It may be below zero, and is shown with its sign and the ends of its interval. */
  signed?: boolean;
  /** It has the unit of this metric, next to which it stands. */
  unitOf?: Metric;
  /** It is the value itself: an interval says nothing about it. */
  exact?: boolean;
  of: (row: Row) => Quantity | null | undefined;
}

const derived = (title: string, dimension: Dimension, like: Metric, of: DerivedInfo["of"], more: Partial<DerivedInfo> = {}): DerivedInfo => ({
  ...{ title, dimension, better: "lower", like, of },
  ...more,
});

/** The highest share of the compiler threads in the CPU time of a trial. */
function compilerShare(row: Row): Quantity | null {
  const shares = (row.details?.points ?? []).flatMap((point) => point.compiler_share ?? []);
  return shares.length > 0 ? { observed: [Math.max(...shares)] } : null;
}

const DERIVED = {
  memory_bytes_per_connection: derived("Memory per connection", "bytes", "memory_bytes_mean", (row) => row.memory_bytes_per_connection, { signed: true }),
  tls_cpu_ratio: derived("CPU, TLS ÷ clear", "count", "cpu_ns_per_request", (row) => row.tls?.cpu_ratio),
  tls_goodput_ratio: derived("Goodput, TLS ÷ clear", "count", "goodput_per_s", (row) => row.tls?.goodput_ratio, { better: "higher" }),
  handshake_cpu_ns: derived("CPU per handshake", "time", "cpu_ns_per_request", (row) => row.tls?.handshake_cpu_ns),
  cpu_ns_over_baseline: derived("CPU over baseline", "time", "cpu_ns_per_request", (row) => row.over_baseline?.cpu_ns_per_request, { signed: true, unitOf: "cpu_ns_per_request" }),
  compiler_share: derived("Compiler", "cpus", "cpu_ns_per_request", compilerShare, { exact: true, better: "neither" }),
} satisfies Record<string, DerivedInfo>;

type Derived = keyof typeof DERIVED;

/** A number of a row. */
export type Figure = Metric | Derived;

const isDerived = (figure: string): figure is Derived => Object.hasOwn(DERIVED, figure);

export const isFigure = (text: string | null): text is Figure => text !== null && (isDerived(text) || (METRICS as readonly string[]).includes(text));

const derivedOf = (figure: Figure): DerivedInfo | null => (isDerived(figure) ? DERIVED[figure] : null);

export const infoOf = (figure: Figure): MetricInfo => (isDerived(figure) ? DERIVED[figure] : METRIC[figure]);

export const quantityOf = (row: Row, figure: Figure): Quantity | null | undefined => (isDerived(figure) ? DERIVED[figure].of(row) : row[figure]);

/** The metric whose warnings affect a figure. */
export const metricOf = (figure: Figure): Metric => (isDerived(figure) ? DERIVED[figure].like : figure);

/** The figure whose values decide about the unit. */
export const unitFigureOf = (figure: Figure): Figure => derivedOf(figure)?.unitOf ?? figure;

export const isSigned = (figure: Figure): boolean => derivedOf(figure)?.signed ?? false;

export const isExact = (figure: Figure): boolean => derivedOf(figure)?.exact ?? false;

/** The derived figures that any of the rows has. */
export const derivedIn = (rows: Row[]): Derived[] => (Object.keys(DERIVED) as Derived[]).filter((figure) => rows.some((row) => DERIVED[figure].of(row) != null));

/** What a figure is, where its name does not say it. */
const EXPLANATION: Partial<Record<Figure, string>> = {
  goodput_per_s: "Goodput counts valid replies only.",
  cpus_busy: "CPUs busy: 100 % is one CPU that is always busy.",
  memory_bytes_per_connection: "Memory per connection: how much the memory grows with each connection that is held open, and with what belongs to it, such as a session.",
  tls_cpu_ratio: "TLS ÷ clear: the value over TLS divided by that in clear, of the same service in the same rounds.",
  handshake_cpu_ns: "CPU per handshake: CPU per request over TLS less that in clear, with a connection for each request.",
  cpu_ns_over_baseline: "CPU over baseline: CPU per request less that of the service that does the same without a package, in the same rounds; the details of the row name it.",
  compiler_share: "Compiler: the highest share of the compiler threads in the CPU time of a trial.",
  start_ms: "Start-up: from the start of the process to its first valid reply.",
  listening_ms: "Start-up, listening: from the start of the process until it accepts a connection.",
  start_cpu_ns: "Start-up, CPU: the CPU time of all its processes until the first valid reply.",
  steady_rate_s: "Time to steady rate: from the first request of a load until the throughput is at 95 % of its steady value.",
  memory_bytes_idle: "Memory, idle: when it is started, before any load.",
  memory_bytes_first_reply: "Memory, first reply: at its first valid reply.",
  memory_bytes_after_load: "Memory, after load: after a load and a rest.",
  anonymous_bytes_idle: "Anonymous memory: without pages of files.",
  file_bytes_idle: "File pages: pages of files that it holds, which services may share.",
  artefact_bytes_used: "Artefact, used: the files of the build that it opened or mapped.",
  artefact_bytes: "Artefact: all files of the build.",
};

/** What the names of these figures leave open, in sentences. */
export const explanationsOf = (figures: Figure[]): string => figures.map((figure) => (EXPLANATION[figure] ? ` ${EXPLANATION[figure]}` : "")).join("");

