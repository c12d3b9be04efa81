// One workload at several numbers of connections: a line per service.

import { idOf, positionOf, type Group, type Metric, type Row, type Services } from "../data.ts";
import { human, inUnit, unitFor } from "../format.ts";
import { METRIC, metricName } from "../metrics.ts";
import { DASHES, MOST_LINES, SYMBOLS } from "../theme.ts";
import { axis, base, half, legend, legendHeight, tip, tooltip, type Chart, type Hovered } from "./chart.ts";

/** What a closed load is but for its connections; null for other loads. */
function rest(group: Group): string | null {
  if (group.load["kind"] !== "closed" || typeof group.load["connections"] !== "number") return null;
  return JSON.stringify([group.contract, group.workload, { ...group.load, connections: 0 }]);
}

const connectionsOf = (group: Group): number => group.load["connections"] as number;

/** `metric` against connections; null where the workload was loaded at one number of them. */
export function levels(groups: Group[], group: Group, rows: Row[], services: Services, metric: Metric): Chart | null {
  const alike = rest(group);
  const steps = alike === null ? [] : groups.filter((other) => rest(other) === alike).sort((left, right) => connectionsOf(left) - connectionsOf(right));
  if (new Set(steps.map(connectionsOf)).size < 2) return null;
  const lines = rows
    .slice(0, MOST_LINES)
    .map((row) => ({
      name: services.name(idOf(row)),
      points: steps.flatMap((step) => {
        const value = positionOf(step.services.find((other) => idOf(other) === idOf(row))?.[metric]);
        return value === null ? [] : [{ connections: connectionsOf(step), value }];
      }),
    }))
    .filter((line) => line.points.length > 0);
  if (lines.length === 0) return null;
  const { dimension } = METRIC[metric];
  const unit = unitFor(dimension, lines.flatMap((line) => line.points.map((point) => point.value)));
  const title = `${metricName(metric)}, ${unit.symbol}`;
  const rising = dimension === "rate";
  return {
    id: `levels-${metric}`,
    title: `${title}, against connections`,
    reading: rising
      ? "Higher is better. Where a line stops rising, more connections bring no more replies; where it falls, they cost some."
      : "Lower is better. Under more connections than a service can answer at once, requests queue and the line rises.",
    height: 340 + legendHeight(lines.map((line) => line.name), half()),
    table: {
      head: ["Service", ...steps.map((step) => `${title}, ${connectionsOf(step)} connections`)],
      rows: lines.map((line) => [
        line.name,
        ...steps.map((step) => {
          const point = line.points.find((one) => one.connections === connectionsOf(step));
          return point ? inUnit(point.value, unit) : "not measured";
        }),
      ]),
    },
    option: (theme, width) => {
      const key = legend(theme, lines.map((line) => line.name), width);
      return {
        ...base(theme),
        color: theme.lines,
        grid: { left: 72, right: 28, top: key.height + 16, bottom: 48 },
        legend: key.legend,
        tooltip: {
          ...tooltip(theme),
          trigger: "item",
          formatter: (hovered: Hovered) => {
            const point = lines[hovered.seriesIndex ?? 0]?.points[hovered.dataIndex];
            return point ? tip(hovered.seriesName ?? "", [["connections", String(point.connections)], [metricName(metric), human(point.value, dimension)]]) : "";
          },
        },
        xAxis: { ...axis(theme, "connections"), type: "category", data: steps.map((step) => String(connectionsOf(step))), nameGap: 30 },
        yAxis: { ...axis(theme, title), ...(rising ? { type: "value", min: 0 } : { type: "log" }), nameGap: 56 },
        series: lines.map((line, index) => ({
          type: "line",
          name: line.name,
          symbol: SYMBOLS[index],
          symbolSize: 8,
          lineStyle: { width: 2, type: DASHES[index] },
          emphasis: { focus: "series" },
          data: line.points.map((point) => [String(point.connections), point.value / unit.factor]),
        })),
      };
    },
  };
}
