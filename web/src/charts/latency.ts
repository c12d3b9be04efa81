// Response times of whole distributions: percentiles to p99.99, and density.

import { idOf, type Row, type Services } from "../data.ts";
import { humanize, inUnit, percent, percentileName, unitFor } from "../format.ts";
import { DASHES, MAX_LINES, SYMBOLS } from "../theme.ts";
import { axis, base, halfPageWidth, legend, legendHeight, logBase, tip, tooltip, type Chart, type Hovered } from "./chart.ts";

const TABLE_PERCENTILES = [0.5, 0.9, 0.99, 0.999, 0.9999];

/** Nines: 0.9 is 1, 0.99 is 2. Spreads the tail, which users notice. */
const nines = (share: number): number => -Math.log10(1 - share);
const shareOf = (at: number): number => 1 - 10 ** -at;

/** Share of the requests without a valid reply. */
function lostShare(row: Row): number {
  const outcomes = row.details?.outcomes ?? {};
  const all = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  return all > 0 ? 1 - (outcomes["valid"] ?? 0) / all : 0;
}

interface Curve {
  name: string;
  /** Share of the requests without a valid reply. */
  lost: number;
  points: [number, number][];
}

const curveOfRow = (row: Row, name: string): Curve => ({
  name,
  lost: lostShare(row),
  points: row.details!.response_time_curve.filter(([share]) => share > 0 && share < 1),
});

const withCurve = (rows: Row[]): Row[] =>
  rows.filter((row) => (row.details?.response_time_curve.length ?? 0) > 1);

export function percentiles(rows: Row[], services: Services): Chart | null {
  const shown = withCurve(rows).slice(0, MAX_LINES);
  if (shown.length === 0) return null;
  return percentileChart(
    "percentiles",
    shown.map((row) => curveOfRow(row, services.name(idOf(row)))),
    "Response time by percentile",
  );
}

/** The same service in two runs, if it has a distribution in both. */
export function percentilesOfRuns(rows: [Row, Row], runs: [string, string], name: string): Chart | null {
  if (withCurve(rows).length < 2) return null;
  return percentileChart("percentiles-of-runs", rows.map((row, index) => curveOfRow(row, runs[index]!)), `${name}, response time by percentile`);
}

function percentileChart(id: string, curves: Curve[], what: string): Chart {
  const unit = unitFor("time", curves.flatMap((curve) => curve.points.map(([, ns]) => ns)));
  const yBase = logBase(curves.flatMap((curve) => curve.points.map(([, ns]) => ns)));
  const at = ({ points, lost }: Curve, share: number): string => {
    if (lost > 1 - share) return "no bound";
    const point = points.find(([reached]) => reached >= share - 1e-9);
    return point ? inUnit(point[1], unit) : "too few requests";
  };
  const unbounded = curves.some(({ lost }) => lost > 1e-4) ? " A line ends where more requests had no valid reply: from there on, its percentiles have no bound." : "";
  return {
    id,
    title: `${what}, ${unit.symbol}`,
    reading:
      `Lower is better. The further right, the rarer and slower the replies: at p99, one request in a hundred took longer. Both axes are logarithmic.${unbounded}`,
    height: 360 + legendHeight(curves.map((curve) => curve.name), halfPageWidth()),
    table: {
      head: ["Service", ...TABLE_PERCENTILES.map((share) => `${percentileName(share)}, ${unit.symbol}`)],
      rows: curves.map((curve) => [curve.name, ...TABLE_PERCENTILES.map((share) => at(curve, share))]),
    },
    option: (theme, width) => {
      const key = legend(theme, curves.map((curve) => curve.name), width);
      return {
      ...base(theme),
      color: theme.lines,
      grid: { left: 64, right: 20, top: key.height + 16, bottom: 48 },
      legend: key.legend,
      tooltip: {
        ...tooltip(theme),
        trigger: "axis",
        formatter: (hovered: Hovered[]) => {
          const first = hovered[0]?.value as [number, number] | undefined;
          if (!first) return "";
          const lines = hovered
            .map((one): [string, number] => [one.seriesName ?? "", (one.value as [number, number])[1] * unit.factor])
            .sort((left, right) => left[1] - right[1])
            .map(([name, ns]): [string, string] => [name, humanize(ns, "time")]);
          return tip(percentileName(shareOf(first[0])), lines);
        },
      },
      xAxis: {
        ...axis(theme, "percentile of the requests"),
        type: "value",
        min: 0,
        max: 4,
        interval: 1,
        nameGap: 30,
        axisLabel: { color: theme.muted, formatter: (value: number) => percentileName(shareOf(value)) },
      },
      yAxis: { ...axis(theme, unit.symbol), type: "log", logBase: yBase, nameGap: 46 },
      series: curves.map((curve, index) => ({
        type: "line",
        name: curve.name,
        data: curve.points.filter(([, ns]) => ns > 0).map(([share, ns]) => [nines(share), ns / unit.factor]),
        symbol: SYMBOLS[index],
        // A symbol at each whole nine distinguishes the lines; one at each point would hide them.
        symbolSize: ([at]: [number, number]) => (Math.abs(at - Math.round(at)) < 0.01 ? 8 : 0),
        showAllSymbol: true,
        lineStyle: { width: 2, type: DASHES[index] },
        emphasis: { focus: "series" },
      })),
      };
    },
  };
}

export function density(rows: Row[], services: Services): Chart | null {
  const shown = rows.filter((row) => (row.details?.response_time_density.length ?? 0) > 0).slice(0, MAX_LINES);
  if (shown.length === 0) return null;
  const shapes = shown.map((row) => ({ name: services.name(idOf(row)), bins: row.details!.response_time_density }));
  const unit = unitFor("time", shapes.flatMap((shape) => shape.bins.map(([low]) => low)));
  return {
    id: "density",
    title: `Response time density, share of the requests by ${unit.symbol}`,
    reading:
      "The distribution of response times. One narrow hill is a steady service; a second hill to the right is a second kind of request, such as one hit by a garbage collection.",
    height: 360 + legendHeight(shapes.map((shape) => shape.name), halfPageWidth()),
    table: {
      head: ["Service", `most often, ${unit.symbol}`, "share of the requests there"],
      rows: shapes.map((shape) => {
        const peak = shape.bins.reduce((best, bin) => (bin[2] > best[2] ? bin : best));
        return [shape.name, `${inUnit(peak[0], unit)} – ${inUnit(peak[1], unit)}`, percent(peak[2])];
      }),
    },
    option: (theme, width) => {
      const key = legend(theme, shapes.map((shape) => shape.name), width);
      return {
      ...base(theme),
      color: theme.lines,
      grid: { left: 56, right: 20, top: key.height + 16, bottom: 48 },
      legend: key.legend,
      tooltip: {
        ...tooltip(theme),
        trigger: "item",
        formatter: (hovered: Hovered) => {
          const bin = shapes[hovered.seriesIndex ?? 0]?.bins[hovered.dataIndex - 1];
          if (!bin) return "";
          return tip(hovered.seriesName ?? "", [
            ["response time", `${inUnit(bin[0], unit)} – ${inUnit(bin[1], unit)} ${unit.symbol}`],
            ["share of the requests", percent(bin[2])],
          ]);
        },
      },
      xAxis: {
        ...axis(theme, unit.symbol),
        type: "log",
        logBase: logBase(shapes.flatMap((shape) => shape.bins.flatMap(([low, high]) => [low, high]))),
        nameGap: 30,
        splitLine: { show: false },
        min: Math.min(...shapes.map((shape) => shape.bins[0]![0])) / unit.factor,
        max: Math.max(...shapes.map((shape) => shape.bins.at(-1)![1])) / unit.factor,
        axisLabel: { color: theme.muted, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => String(Number(value.toPrecision(4))) },
      },
      yAxis: {
        ...axis(theme, ""),
        type: "value",
        axisLabel: { color: theme.muted, formatter: (value: number) => `${Math.round(value * 100)} %` },
      },
      series: shapes.map((shape, index) => ({
        type: "line",
        name: shape.name,
        smooth: 0.3,
        symbol: SYMBOLS[index],
        symbolSize: 6,
        showSymbol: false,
        lineStyle: { width: 2, type: DASHES[index] },
        areaStyle: { opacity: 0.07 },
        emphasis: { focus: "series" },
        data: curveOf(shape.bins).map(([ns, share]) => [ns / unit.factor, share]),
      })),
      };
    },
  };
}

/** The middle of each bin, and the baseline on both sides. */
function curveOf(bins: [number, number, number][]): [number, number][] {
  const first = bins[0]!;
  const last = bins.at(-1)!;
  const middle = bins.map(([low, high, share]): [number, number] => [Math.sqrt(low * high), share]);
  return [[first[0], 0], ...middle, [last[1], 0]];
}
