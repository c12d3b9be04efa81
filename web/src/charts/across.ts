// Charts beyond one group: a service across workloads (radar), and next to published results.

import { idOf, positionOf, type Group, type Row, type Services } from "../data.ts";
import { humanize, percent } from "../format.ts";
import { DASHES, MAX_LINES, SYMBOLS } from "../theme.ts";
import { axis, base, legend, tip, tooltip, type Chart, type Hovered } from "./chart.ts";

/** A radar with fewer axes has no shape. */
const MIN_AXES = 3;

const sameLoad = (left: Group, right: Group): boolean => JSON.stringify(left.load) === JSON.stringify(right.load);

/** The groups of one contract and load, one per workload. */
const siblings = (groups: Group[], group: Group): Group[] =>
  groups.filter((other) => other.contract === group.contract && sameLoad(other, group));

interface Axis {
  name: string;
  value(id: string): number | null;
}

/** The workloads of one contract if there are enough; otherwise the operations of one workload, by 1 / p50. */
function axesOf(groups: Group[], group: Group): { axes: Axis[]; what: string } {
  const find = (within: Group, id: string): Row | undefined => within.services.find((row) => idOf(row) === id);
  const workloads = siblings(groups, group).map((other) => ({
    name: other.workload,
    value: (id: string) => positionOf(find(other, id)?.throughput_per_s),
  }));
  if (workloads.length >= MIN_AXES) return { axes: workloads, what: "throughput" };
  const names = new Set(group.services.flatMap((row) => row.details?.operations.map((one) => one.name) ?? []));
  const operations = [...names].map((name) => ({
    name,
    value: (id: string) => {
      const p50 = find(group, id)?.details?.operations.find((one) => one.name === name)?.response_time_ns_p50;
      return typeof p50 === "number" && p50 > 0 ? 1 / p50 : null;
    },
  }));
  return { axes: operations, what: "speed (1 / median response time)" };
}

export function radar(groups: Group[], group: Group, rows: Row[], services: Services): Chart | null {
  const { axes, what } = axesOf(groups, group);
  const shown = rows.slice(0, MAX_LINES);
  if (axes.length < MIN_AXES || shown.length === 0) return null;
  const best = axes.map((one) => Math.max(...shown.map((row) => one.value(idOf(row)) ?? 0)));
  const shares = shown.map((row) => axes.map((one, index) => {
    const value = one.value(idOf(row));
    return value === null || !best[index] ? null : value / best[index];
  }));
  // A shape through the middle would say that it is the slowest.
  const drawn = shown.map((row, index) => ({ row, shares: shares[index]! })).filter((one) => !one.shares.includes(null));
  if (drawn.length === 0) return null;
  const missing = shown.filter((_, index) => shares[index]!.includes(null)).map((row) => services.name(idOf(row)));
  return {
    id: "radar",
    title: `Operations: ${what}, % of the best`,
    reading:
      "The outer ring is the best service shown in that operation. A round shape is good at everything; a spike is a speciality." +
      (missing.length > 0 ? ` Not drawn, since not every operation was measured: ${missing.join(", ")}.` : ""),
    height: 440,
    table: {
      head: ["Service", ...axes.map((one) => one.name)],
      rows: shown.map((row, index) => [
        services.name(idOf(row)),
        ...shares[index]!.map((share) => (share === null ? "not measured" : percent(share))),
      ]),
    },
    option: (theme, width) => {
      const key = legend(theme, drawn.map(({ row }) => services.name(idOf(row))), width);
      const names = axes.map((one) => (width < 480 ? one.name.replaceAll(/([a-z])([A-Z])/g, "$1\n$2") : one.name));
      const longest = Math.max(...names.flatMap((name) => name.split("\n").map((line) => line.length)));
      return {
      ...base(theme),
      color: theme.lines,
      legend: key.legend,
      tooltip: {
        ...tooltip(theme),
        trigger: "item",
        formatter: (hovered: Hovered) =>
          tip(hovered.name ?? "", axes.map((one, index) => {
            const share = drawn[hovered.dataIndex]?.shares[index];
            return [one.name, share == null ? "not measured" : percent(share)];
          })),
      },
      radar: {
        center: ["50%", 440 / 2 + key.height / 2 + 6],
        // Names are next to the rings.
        radius: Math.max(60, Math.min((440 - key.height) / 2 - 40, width / 2 - 18 - 6.4 * longest)),
        indicator: names.map((name) => ({ name, max: 1, min: 0 })),
        axisName: { color: theme.text, fontSize: 12, lineHeight: 15 },
        splitNumber: 4,
        splitArea: { show: false },
        splitLine: { lineStyle: { color: theme.line } },
        axisLine: { lineStyle: { color: theme.line } },
      },
      series: [
        {
          type: "radar",
          symbolSize: 5,
          data: drawn.map(({ row, shares }, index) => ({
            name: services.name(idOf(row)),
            value: shares,
            symbol: SYMBOLS[index],
            lineStyle: { width: 2, type: DASHES[index] },
            areaStyle: { opacity: 0.04 },
          })),
        },
      ],
      };
    },
  };
}

/** Published figures against ours, on logarithmic axes: agreement is a rising line. */
export function published(pairs: { name: string; theirs: number; ours: number; source: string }[]): Chart {
  return {
    id: "published",
    title: "Throughput: published against measured here, /s",
    reading: "The machines differ, so the order counts, not the height: a rising cloud means that both rank the services alike.",
    height: 380,
    table: {
      head: ["Service", "Source", "Published, /s", "Measured here, /s"],
      rows: pairs.map((pair) => [pair.name, pair.source, humanize(pair.theirs, "rate"), humanize(pair.ours, "rate")]),
    },
    option: (theme) => ({
      ...base(theme),
      grid: { left: 72, right: 28, top: 24, bottom: 48 },
      tooltip: {
        ...tooltip(theme),
        trigger: "item",
        formatter: (hovered: Hovered) => {
          const pair = pairs[hovered.dataIndex]!;
          return tip(pair.name, [["published", humanize(pair.theirs, "rate")], ["measured here", humanize(pair.ours, "rate")]]);
        },
      },
      xAxis: { ...axis(theme, "published, /s"), type: "log", nameGap: 30 },
      yAxis: { ...axis(theme, "measured here, /s"), type: "log", nameGap: 56 },
      series: [
        {
          type: "scatter",
          symbolSize: 12,
          itemStyle: { color: theme.accent },
          data: pairs.map((pair) => [pair.theirs, pair.ours]),
          label: {
            show: true,
            position: "right",
            color: theme.text,
            fontSize: 12,
            formatter: ({ dataIndex }: Hovered) => pairs[dataIndex]?.name ?? "",
          },
          labelLayout: { hideOverlap: true, moveOverlap: "shiftY" },
        },
      ],
    }),
  };
}
