// Warnings as the page shows them. The JSON of the report defines each kind: its level, the figures that it affects,
// and its scope.

import type { Group, Level, Metric, MetricTable, Row, Warning } from "./data.ts";

/** The figures of each metric, by the report that is shown. */
let metrics: MetricTable = {};

export const setMetricTable = (table: MetricTable | undefined): void => {
  metrics = table ?? {};
};

/** Whether a warning affects this figure. A warning of a report that does not specify this affects every figure. */
export const affects = (warning: Warning, metric: Metric): boolean => {
  const figures = metrics[metric]?.figures;
  if (warning.affects === undefined || figures === undefined) return warning.level !== "note";
  return figures.some((figure) => warning.affects!.includes(figure));
};

export const levelOf = (warning: Warning): Level => warning.level ?? "warning";

const FIGURE_NAMES: Record<string, string> = { rates: "rates", times: "response times", tail: "response times from p99 on", cpu: "CPU", memory: "memory" };

/** The figures that a warning affects, in words. */
export function affectedFigures(warning: Warning): string {
  const affected = warning.affects;
  if (affected === undefined || affected.includes("other")) return "every figure";
  const figures = affected.filter((figure) => figure !== "tail" || !affected.includes("times"));
  return figures.map((figure) => FIGURE_NAMES[figure] ?? figure).join(", ");
}

/** Those that leave no result come first. The others keep their order, because one may refer to another before it. */
export const byLevel = (warnings: Warning[]): Warning[] => {
  const isInvalid = (warning: Warning) => levelOf(warning) === "invalid";
  return [...warnings.filter(isInvalid), ...warnings.filter((warning) => !isInvalid(warning))];
};

/** The warnings of a row that its group does not already show for most services. Notes of a service differ by their text. */
export const ownWarnings = (group: Group, row: Row): Warning[] =>
  row.warnings.filter((warning) => {
    if (warning.bottleneck === "generator") return !row.generator_bound;
    const differsByText = levelOf(warning) === "note" && warning.scope !== "machine";
    return !group.warnings.some((other) => other.kind === warning.kind && (!differsByText || other.text.includes(warning.text)));
  });

/** The warnings of the row itself that affect this figure. */
export const warningsOf = (group: Group, row: Row, metric: Metric): Warning[] =>
  row.warnings.length === 0 ? row.warnings : ownWarnings(group, row).filter((warning) => affects(warning, metric));
