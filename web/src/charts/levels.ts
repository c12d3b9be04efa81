// One workload under several loads, in ascending order: a line per service.

import { hasNoBound, idOf, positionOf, type Group, type Metric, type Row, type Services } from "../data.ts";
import { humanize, inUnit, unitFor } from "../format.ts";
import { METRIC, metricName } from "../metrics.ts";
import { DASHES, MAX_LINES, SYMBOLS } from "../theme.ts";
import { axis, base, halfPageWidth, legend, legendHeight, tip, tooltip, type Chart, type Hovered } from "./chart.ts";

/** The loads of a chart and how to present them. */
interface LoadSteps {
  id: string;
  groups: Group[];
  /** Position of a group on the axis. */
  at: (group: Group) => number;
  axis: string;
  /** A position on the axis in words. */
  label: (at: number) => string;
  /** Whether the axis has only the positions of loads, at equal distances. */
  even: boolean;
  reading: string;
  /** Metrics that tooltips show in addition to the drawn one. */
  extra: Metric[];
  /** Width of the figure, px. */
  width: number;
}

/** The properties of a closed load apart from its connections; null for other loads. */
function withoutConnections(group: Group): string | null {
  if (group.load["kind"] !== "closed" || typeof group.load["connections"] !== "number") return null;
  return JSON.stringify([group.contract, group.workload, { ...group.load, connections: 0 }]);
}

/** `metric` against connections; null if the workload was loaded with a single number of them. */
export function levels(groups: Group[], group: Group, rows: Row[], services: Services, metric: Metric): Chart | null {
  const load = withoutConnections(group);
  const steps: LoadSteps = {
    id: `levels-${metric}`,
    groups: load === null ? [] : groups.filter((other) => withoutConnections(other) === load),
    at: (step) => step.load["connections"] as number,
    axis: "connections",
    label: (at) => `${at} connections`,
    even: true,
    reading:
      METRIC[metric].dimension === "rate"
        ? "Higher is better. Where a line stops rising, more connections bring no more replies; where it falls, they cost some."
        : "Lower is better. Under more connections than a service can answer at once, requests queue and the line rises.",
    extra: [],
    width: halfPageWidth(),
  };
  return loadChart(steps, rows, services, metric);
}

/** p99 against the offered load; null if the workload was loaded at a single rate. */
export function capacity(groups: Group[], group: Group, rows: Row[], services: Services): Chart | null {
  const steps: LoadSteps = {
    id: "capacity",
    groups: groups.filter((other) => other.contract === group.contract && other.workload === group.workload && other.offered_per_s !== null),
    at: (step) => step.offered_per_s!,
    axis: "offered load, /s",
    label: (at) => `${humanize(at, "rate")} offered`,
    even: false,
    reading: "Level is good. Where a line turns upwards, the service has reached its capacity and requests begin to queue.",
    extra: ["goodput_per_s"],
    width: 2 * halfPageWidth(),
  };
  return loadChart(steps, rows, services, "response_time_ns_p99");
}

function loadChart(steps: LoadSteps, rows: Row[], services: Services, metric: Metric): Chart | null {
  const groups = [...steps.groups].sort((left, right) => steps.at(left) - steps.at(right));
  const places = [...new Set(groups.map(steps.at))];
  if (places.length < 2) return null;
  const measuredAt = (group: Group, row: Row) => group.services.find((other) => idOf(other) === idOf(row))?.[metric];
  const shown = rows
    .slice(0, MAX_LINES)
    .map((row) => ({
      name: services.name(idOf(row)),
      unbounded: groups.filter((group) => hasNoBound(measuredAt(group, row))).map(steps.at),
      points: groups.flatMap((group) => {
        const measured = group.services.find((other) => idOf(other) === idOf(row));
        const value = positionOf(measuredAt(group, row));
        const extra = steps.extra.map((one) => ({ metric: one, value: positionOf(measured?.[one]) }));
        return value === null ? [] : [{ at: steps.at(group), value, extra }];
      }),
    }))
    .filter((line) => line.points.length > 0 || line.unbounded.length > 0);
  if (shown.length === 0) return null;
  const { dimension } = METRIC[metric];
  const unit = unitFor(dimension, shown.flatMap((line) => line.points.map((point) => point.value)));
  const title = `${metricName(metric)}, ${unit.symbol}`;
  const names = shown.map((line) => line.name);
  const unbounded = shown.flatMap((line) => line.unbounded.map((at) => `${line.name} at ${steps.label(at)}`));
  return {
    id: steps.id,
    title: `${title}, against ${steps.axis}`,
    reading: steps.reading + (unbounded.length > 0 ? ` No bound: ${unbounded.join(", ")}.` : ""),
    height: 340 + legendHeight(names, steps.width),
    table: {
      head: ["Service", ...places.map((at) => `${title}, ${steps.label(at)}`)],
      rows: shown.map((line) => [
        line.name,
        ...places.map((at) => {
          const point = line.points.find((one) => one.at === at);
          return point ? inUnit(point.value, unit) : line.unbounded.includes(at) ? "no bound" : "not measured";
        }),
      ]),
    },
    option: (theme, width) => {
      const key = legend(theme, names, width);
      return {
        ...base(theme),
        color: theme.lines,
        grid: { left: 72, right: 28, top: key.height + 16, bottom: 48 },
        legend: key.legend,
        tooltip: {
          ...tooltip(theme),
          trigger: "item",
          formatter: (hovered: Hovered) => {
            const point = shown[hovered.seriesIndex ?? 0]?.points[hovered.dataIndex];
            if (!point) return "";
            const values = [{ metric, value: point.value }, ...point.extra];
            const lines = values.flatMap((one): [string, string][] => (one.value === null ? [] : [[metricName(one.metric), humanize(one.value, METRIC[one.metric].dimension)]]));
            return tip(hovered.seriesName ?? "", [["load", steps.label(point.at)], ...lines]);
          },
        },
        xAxis: { ...axis(theme, steps.axis), ...(steps.even ? { type: "category", data: places.map(String) } : { type: "value", min: 0 }), nameGap: 30 },
        yAxis: { ...axis(theme, title), ...(dimension === "rate" ? { type: "value", min: 0 } : { type: "log" }), nameGap: 56 },
        series: shown.map((line, index) => ({
          type: "line",
          name: line.name,
          symbol: SYMBOLS[index],
          symbolSize: 8,
          lineStyle: { width: 2, type: DASHES[index] },
          emphasis: { focus: "series" },
          data: line.points.map((point) => [steps.even ? String(point.at) : point.at, point.value / unit.factor]),
        })),
      };
    },
  };
}
