// The cost of throughput: CPU time per request against throughput, with memory as the size.

import { idOf, positionOf, type Row, type Services } from "../data.ts";
import { humanize, inUnit, unitFor } from "../format.ts";
import { MAX_LINES } from "../theme.ts";
import { axis, base, logBase, tip, tooltip, type Chart, type Hovered } from "./chart.ts";

export function cost(rows: Row[], services: Services): Chart | null {
  const shown = rows.flatMap((row) => {
    const throughput = positionOf(row.throughput_per_s);
    const cpu = positionOf(row.cpu_ns_per_request);
    if (throughput === null || cpu === null) return [];
    return [{ name: services.name(idOf(row)), throughput, cpu, memory: positionOf(row.memory_bytes_peak) }];
  });
  // Small circles are drawn on top of large ones.
  shown.sort((left, right) => (right.memory ?? 0) - (left.memory ?? 0));
  if (shown.length === 0) return null;
  const unit = unitFor("time", shown.map((one) => one.cpu));
  const widest = Math.max(...shown.map((one) => one.throughput));
  const most = Math.max(1, ...shown.map((one) => one.memory ?? 0));
  // A logarithmic axis spends its height on decades, so it needs several of them.
  const spread = Math.max(...shown.map((one) => one.cpu)) / Math.min(...shown.map((one) => one.cpu));
  const scale = spread > 20 ? { type: "log", logBase: logBase(shown.map((one) => one.cpu)) } : { type: "value", min: 0 };
  const size = (memory: number | null) => 10 + 38 * Math.sqrt((memory ?? 0) / most);
  return {
    id: "cost",
    title: `CPU time per request, ${unit.symbol}, against throughput, /s`,
    reading: "The lower right is best: many replies, each for little CPU. The area of a circle is the peak memory.",
    height: 420,
    table: {
      head: ["Service", "Throughput, /s", `CPU per request, ${unit.symbol}`, "Memory, peak"],
      rows: shown.map((one) => [
        one.name,
        inUnit(one.throughput, { symbol: "/s", factor: 1 }),
        inUnit(one.cpu, unit),
        one.memory === null ? "not known" : humanize(one.memory, "bytes"),
      ]),
    },
    option: (theme) => ({
      ...base(theme),
      grid: { left: 64, right: 28, top: 24, bottom: 48 },
      tooltip: {
        ...tooltip(theme),
        trigger: "item",
        formatter: (hovered: Hovered) => {
          const one = shown[hovered.dataIndex]!;
          const lines: [string, string][] = [
            ["throughput", humanize(one.throughput, "rate")],
            ["CPU per request", humanize(one.cpu, "time")],
          ];
          if (one.memory !== null) lines.push(["memory, peak", humanize(one.memory, "bytes")]);
          return tip(one.name, lines);
        },
      },
      xAxis: { ...axis(theme, "throughput, /s"), type: "value", min: 0, nameGap: 30 },
      yAxis: { ...axis(theme, `CPU per request, ${unit.symbol}`), ...scale, nameGap: 46 },
      series: [
        {
          type: "scatter",
          data: shown.map((one) => ({
            value: [one.throughput, one.cpu / unit.factor],
            label: { position: one.throughput > 0.75 * widest ? "left" : "right" },
            symbolSize: size(one.memory),
          })),
          itemStyle: { color: `${theme.accent}80`, borderColor: theme.accent, borderWidth: 1.5 },
          label: {
            show: true,
            // Names of points near the right edge are to the left of them.
            color: theme.text,
            fontSize: 12,
            formatter: ({ dataIndex }: Hovered) => (dataIndex < 2 * MAX_LINES ? (shown[dataIndex]?.name ?? "") : ""),
          },
          labelLayout: { hideOverlap: true, moveOverlap: "shiftY" },
        },
      ],
    }),
  };
}
