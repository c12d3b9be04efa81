// The name, the unit and the direction of each metric. prony declares them, and writes their table into the page.

import type { Estimate, Metric, MetricTable } from "./data.ts";
import { intervalWithUnit, type Dimension, type Unit } from "./format.ts";

export interface MetricInfo {
  /** Short where the column says what it is a time of: `p99` in place of `response time, p99`. */
  title: string;
  dimension: Dimension;
  better: "higher" | "lower" | "neither";
}

const DIMENSION: Record<string, Dimension> = { "1/s": "rate", ns: "time", ms: "time", s: "time", bytes: "bytes", cpus: "cpus" };
const RESPONSE_TIME = "response time, ";
/** p50 and the like are written as they are. */
const capitalize = (text: string): string => (/^p\d/.test(text) ? text : text.replace(/^[a-z]/, (first) => first.toUpperCase()));

function readTable(): Record<Metric, MetricInfo> {
  const table = JSON.parse(document.getElementById("prony-metrics")?.textContent ?? "{}") as MetricTable;
  const info = Object.entries(table).map(([key, { title, unit, better }]): [string, MetricInfo] => [
    key,
    {
      title: capitalize(title.replace(RESPONSE_TIME, "")),
      dimension: DIMENSION[unit] ?? "count",
      better: better as MetricInfo["better"],
    },
  ]);
  return Object.fromEntries(info) as Record<Metric, MetricInfo>;
}

export const METRIC: Record<Metric, MetricInfo> = readTable();

/** The name of a metric where the context does not say that it is a response time. */
export const metricName = (metric: Metric): string =>
  metric.startsWith("response_time") ? `Response time, ${METRIC[metric].title.replace(/^[A-Z]/, (first) => first.toLowerCase())}` : (METRIC[metric]?.title ?? metric);

/** The stored units of times that are not in ns. */
const IN_NS: Partial<Record<string, number>> = { start_ms: 1e6, listening_ms: 1e6, steady_rate_s: 1e9 };

/** Converts a value to base units. */
export const toBaseUnit = (figure: string, value: number): number => value * (IN_NS[figure] ?? 1);

/** An estimate of a metric, with its interval. */
export const estimateWithUnit = (figure: string, { point, low, high }: Estimate, unit: Unit): string =>
  intervalWithUnit({ point: toBaseUnit(figure, point), low: toBaseUnit(figure, low), high: toBaseUnit(figure, high) }, unit);
