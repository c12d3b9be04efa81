// The response times of one trial over time: a column for each part of the measurement, a cell for each range of times.

import type { Row } from "../data.ts";
import { digits, inUnit, percent, unitFor } from "../format.ts";
import type { Theme } from "../theme.ts";
import { axis, base, tip, tooltip, type Chart, type Hovered, type RenderApi } from "./chart.ts";

/** As prony records them: bin N has the response times from 10^(N / 12) ns up to those of the next bin. */
const BINS_PER_DECADE = 12;
const edge = (bin: number): number => 10 ** (bin / BINS_PER_DECADE);

/** Percentiles of the table. */
const SHARES = [0.5, 0.9, 0.99];

interface Cell {
  from: number;
  to: number;
  low: number;
  high: number;
  /** Share of the replies of its column. */
  share: number;
}

/** The upper end of the bin that a share of the replies does not exceed. */
function reached(counts: number[], first: number, share: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  let below = 0;
  for (const [index, count] of counts.entries()) {
    below += count;
    if (count > 0 && below >= share * all) return edge(first + index + 1);
  }
  return null;
}

/** One colour, more opaque for more replies; a single reply is still visible. */
const colourOf = (theme: Theme, share: number): string => {
  const opacity = Math.round(255 * (0.14 + 0.86 * Math.sqrt(share)));
  return `${theme.accent}${opacity.toString(16).padStart(2, "0")}`;
};

export function heatMap(row: Row, name: string): Chart | null {
  const parts = row.details?.series?.distributions ?? [];
  const cells = parts.flatMap((part) => {
    const all = part.counts.reduce((sum, count) => sum + count, 0);
    return part.counts.flatMap((count, index): Cell[] =>
      count === 0 ? [] : [{ from: part.start_s, to: part.start_s + part.length_s, low: edge(part.first_bin + index), high: edge(part.first_bin + index + 1), share: count / all }],
    );
  });
  if (cells.length === 0) return null;
  const unit = unitFor("time", cells.map((cell) => cell.low));
  const range = (low: number, high: number) => `${inUnit(low, unit)} – ${inUnit(high, unit)} ${unit.symbol}`;
  return {
    id: "heat-map",
    title: `${name}: response times over time, ${unit.symbol}`,
    reading: "Each column is a part of the trial, and each cell a range of response times: the darker, the more of its replies. A steady service draws level bands; a pause lifts a whole column.",
    height: 320,
    table: {
      head: ["From, s", "Valid replies", ...SHARES.map((share) => `p${100 * share} at most, ${unit.symbol}`)],
      rows: parts.map((part) => [
        digits(part.start_s),
        digits(part.counts.reduce((sum, count) => sum + count, 0)),
        ...SHARES.map((share) => {
          const ns = reached(part.counts, part.first_bin, share);
          return ns === null ? "none" : inUnit(ns, unit);
        }),
      ]),
    },
    option: (theme) => ({
      ...base(theme),
      grid: { left: 64, right: 20, top: 16, bottom: 48 },
      tooltip: {
        ...tooltip(theme),
        trigger: "item",
        formatter: (hovered: Hovered) => {
          const cell = cells[hovered.dataIndex];
          if (!cell) return "";
          return tip(`${cell.from.toFixed(1)} – ${cell.to.toFixed(1)} s`, [
            ["response time", range(cell.low, cell.high)],
            ["share of the replies", percent(cell.share)],
          ]);
        },
      },
      xAxis: { ...axis(theme, "seconds from the start of the measurement"), type: "value", min: 0, max: Math.max(...cells.map((cell) => cell.to)), nameGap: 28, splitLine: { show: false }, axisLabel: { color: theme.muted, showMaxLabel: false } },
      yAxis: {
        ...axis(theme, unit.symbol),
        type: "log",
        nameGap: 46,
        min: Math.min(...cells.map((cell) => cell.low)) / unit.factor,
        max: Math.max(...cells.map((cell) => cell.high)) / unit.factor,
        axisLabel: { color: theme.muted, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => digits(value) },
      },
      series: [
        {
          type: "custom",
          encode: { x: [0, 1], y: [2, 3] },
          data: cells.map((cell) => [cell.from, cell.to, cell.low / unit.factor, cell.high / unit.factor, cell.share]),
          renderItem: (_: unknown, api: RenderApi) => {
            const [left, bottom] = api.coord([api.value(0), api.value(2)]);
            const [right, top] = api.coord([api.value(1), api.value(3)]);
            return {
              type: "rect",
              shape: { x: left, y: top, width: Math.max(1, right - left), height: bottom - top },
              style: { fill: colourOf(theme, api.value(4)) },
            };
          },
        },
      ],
    }),
  };
}
