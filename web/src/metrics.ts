// The name, the unit and the direction of each metric.

import type { Metric } from "./data.ts";
import type { Dimension } from "./format.ts";

export interface MetricInfo {
  title: string;
  dimension: Dimension;
  better: "higher" | "lower" | "neither";
}

export const METRIC: Record<Metric, MetricInfo> = {
  throughput_per_s: { title: "Throughput", dimension: "rate", better: "higher" },
  goodput_per_s: { title: "Goodput", dimension: "rate", better: "higher" },
  offered_per_s: { title: "Offered", dimension: "rate", better: "neither" },
  sequences_per_s: { title: "Sequences", dimension: "rate", better: "higher" },
  response_time_ns_mean: { title: "Mean", dimension: "time", better: "lower" },
  response_time_ns_p50: { title: "p50", dimension: "time", better: "lower" },
  response_time_ns_p75: { title: "p75", dimension: "time", better: "lower" },
  response_time_ns_p90: { title: "p90", dimension: "time", better: "lower" },
  response_time_ns_p95: { title: "p95", dimension: "time", better: "lower" },
  response_time_ns_p99: { title: "p99", dimension: "time", better: "lower" },
  response_time_ns_p99_9: { title: "p99.9", dimension: "time", better: "lower" },
  response_time_ns_max: { title: "Longest", dimension: "time", better: "lower" },
  cpu_ns_per_request: { title: "CPU / request", dimension: "time", better: "lower" },
  backing_service_cpu_ns_per_request: { title: "Backing CPU / request", dimension: "time", better: "lower" },
  cpus_busy: { title: "CPU", dimension: "cpus", better: "lower" },
  memory_bytes_peak: { title: "Memory, peak", dimension: "bytes", better: "lower" },
  memory_bytes_mean: { title: "Memory, mean", dimension: "bytes", better: "lower" },
  start_ms: { title: "Start-up", dimension: "time", better: "lower" },
  messages_per_s: { title: "Messages", dimension: "rate", better: "higher" },
  first_message_ns_p50: { title: "First message, p50", dimension: "time", better: "lower" },
  first_message_ns_p99: { title: "First message, p99", dimension: "time", better: "lower" },
};

/** The name of a metric where the context does not say that it is a response time. */
export const metricName = (metric: Metric): string =>
  metric.startsWith("response_time") ? `Response time, ${METRIC[metric].title.replace(/^[A-Z]/, (first) => first.toLowerCase())}` : (METRIC[metric]?.title ?? metric);

/** Converts a value to base units: only start-up is stored in ms. */
export const toBase = (metric: Metric, value: number): number => (metric === "start_ms" ? value * 1e6 : value);
