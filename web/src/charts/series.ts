// A trial over time, or two overlaid: tracks for throughput, messages of streams, p99, CPU and memory, with the warm-up
// shaded.

import { type Row } from "../data.ts";
import { formatDuration, humanize, inUnit, unitFor, words, type Dimension, type Unit } from "../format.ts";
import { DASHES, SYMBOLS, type Theme } from "../theme.ts";
import { axis, base, legend, tip, tooltip, type Chart, type Hovered } from "./chart.ts";

interface Track {
  title: string;
  dimension: Dimension;
  points: [number, number][];
}

const TRACK_HEIGHT = 104;
const TRACK_GAP = 34;

function tracksOf(row: Row): Track[] {
  const series = row.details?.series;
  if (!series) return [];
  const keep = <T>(items: T[], at: (item: T) => number, value: (item: T) => number | null): [number, number][] =>
    items.flatMap((item) => {
      const known = value(item);
      return known === null ? [] : [[at(item), known] as [number, number]];
    });
  const failed = series.intervals.some((one) => one.errors_per_s !== undefined);
  const tracks: Track[] = [
    { title: "Throughput", dimension: "rate", points: keep(series.intervals, (one) => one.at_s, (one) => one.throughput_per_s) },
    { title: "Messages", dimension: "rate", points: keep(series.intervals, (one) => one.at_s, (one) => one.messages_per_s ?? null) },
    { title: "Errors", dimension: "rate", points: keep(series.intervals, (one) => one.at_s, (one) => (failed ? (one.errors_per_s ?? 0) : null)) },
    { title: "p99", dimension: "time", points: keep(series.intervals, (one) => one.at_s, (one) => one.response_time_ns_p99) },
    { title: "CPU", dimension: "cpus", points: keep(series.resources, (one) => one.at_s, (one) => one.cpus_busy) },
    { title: "Memory", dimension: "bytes", points: keep(series.resources, (one) => one.at_s, (one) => one.memory_bytes) },
  ];
  return tracks.filter((track) => track.points.length > 1);
}

/** Every second of the trial. Errors have a column even if there were none. */
function secondsOf(tracks: Track[]) {
  const all: Track[] = tracks.some((track) => track.title === "Errors") ? tracks : tracks.flatMap((track) => (track.title === "Throughput" ? [track, { title: "Errors", dimension: "rate", points: track.points.map(([at]): [number, number] => [at, 0]) }] : [track]));
  const units = all.map((track) => unitFor(track.dimension, track.points.map(([, value]) => value)));
  const bySecond = new Map<number, number[][]>();
  all.forEach((track, index) => {
    for (const [at, value] of track.points) {
      const second = Math.floor(at + 1e-6);
      const columns = bySecond.get(second) ?? all.map(() => []);
      columns[index]!.push(value);
      bySecond.set(second, columns);
    }
  });
  // Percentiles of parts of a second have no mean.
  const joined = (track: Track, values: number[]) => (track.dimension === "time" ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0) / values.length);
  return {
    head: ["Second", ...all.map((track, index) => `${track.title === "p99" ? "p99, highest of its parts" : track.title}, ${units[index]!.symbol}`)],
    rows: [...bySecond]
      .sort(([left], [right]) => left - right)
      .map(([second, columns]) => [
        second < 0 ? `${second} (warm-up)` : String(second),
        ...columns.map((values, index) => (values.length === 0 ? "–" : inUnit(joined(all[index]!, values), units[index]!))),
      ]),
  };
}

/** The range of each metric. */
function tableOf(tracks: Track[]) {
  const range = (track: Track, warm: boolean): string => {
    const values = track.points.filter(([at]) => at < 0 === warm).map(([, value]) => value);
    if (values.length === 0) return "none";
    return `${humanize(Math.min(...values), track.dimension)} – ${humanize(Math.max(...values), track.dimension)}`;
  };
  return {
    head: ["Metric", "during the warm-up", "during the measurement"],
    rows: tracks.map((track) => [track.title, range(track, true), range(track, false)]),
  };
}

export function overTime(row: Row, name: string): Chart | null {
  const series = row.details?.series;
  const tracks = tracksOf(row);
  if (!series || tracks.length === 0) return null;
  const begin = Math.min(0, ...tracks.flatMap((track) => track.points.map(([at]) => at)));
  const verdict = series.classification === null ? "" : ` Warm-up: ${words(series.classification)}.`;
  const warmUp = series.warm_up_s === null ? "" : ` after ${formatDuration(series.warm_up_s)} of warm-up (shaded)`;
  return {
    id: "over-time",
    title: `${name} over time, s`,
    reading: `One trial (round ${series.round + 1}, the median one) second by second${warmUp}. A steady service draws level lines.${verdict}`,
    height: 28 + tracks.length * (TRACK_HEIGHT + TRACK_GAP) + 16,
    table: secondsOf(tracks),
    option: (theme) => optionOf(theme, tracks, begin, series.duration_s),
  };
}

/** Two services overlaid, each with its median trial. */
export function overTimeOfTwo(rows: [Row, Row], names: [string, string]): Chart | null {
  const both = rows.map(tracksOf);
  const titles = both[0]!.map((track) => track.title).filter((title) => both[1]!.some((track) => track.title === title));
  if (titles.length === 0) return null;
  const tracks = titles.map((title) => both.map((tracks) => tracks.find((track) => track.title === title)!));
  const all = tracks.flat();
  const begin = Math.min(0, ...all.flatMap((track) => track.points.map(([at]) => at)));
  const end = Math.max(...rows.map((row) => row.details?.series?.duration_s ?? 0));
  const tables = both.map(tableOf);
  return {
    id: "over-each-other",
    title: `${names[0]} and ${names[1]} over time, s`,
    reading: "The median trial of each, aligned so that both measurements start at 0. They ran one after the other.",
    height: 28 + LEGEND_HEIGHT + titles.length * (TRACK_HEIGHT + TRACK_GAP) + 16,
    table: {
      head: ["Service", ...tables[0]!.head],
      rows: tables.flatMap((table, index) => table.rows.map((cells) => [names[index]!, ...cells])),
    },
    option: (theme, width) => optionOfTwo(theme, width, tracks, names, begin, end),
  };
}

/** Height of the legend of two services, px. */
const LEGEND_HEIGHT = 30;

function optionOfTwo(theme: Theme, width: number, tracks: Track[][], names: [string, string], begin: number, end: number) {
  const units = tracks.map((pair) => unitFor(pair[0]!.dimension, pair.flatMap((track) => track.points.map(([, value]) => value))));
  const frame = frameOf(theme, tracks.map((pair) => pair[0]!), units, begin, end, LEGEND_HEIGHT);
  return {
    ...frame,
    color: theme.lines,
    legend: legend(theme, names, width).legend,
    tooltip: {
      ...tooltip(theme),
      trigger: "axis",
      formatter: (hovered: Hovered[]) => {
        const lines = hovered.map((one): [string, string] => {
          const at = Math.floor((one.seriesIndex ?? 0) / 2);
          const track = tracks[at]![0]!;
          return [`${track.title}, ${one.seriesName}`, humanize((one.value as [number, number])[1] * units[at]!.factor, track.dimension)];
        });
        return tip(seconds(hovered), lines);
      },
    },
    series: tracks.flatMap((pair, at) =>
      pair.map((track, index) => ({
        type: "line",
        name: names[index],
        xAxisIndex: at,
        yAxisIndex: at,
        symbol: SYMBOLS[index],
        symbolSize: 5,
        showSymbol: track.points.length < 40,
        color: theme.lines[index],
        // The second is dashed: colour alone must not distinguish lines.
        lineStyle: { width: 1.8, type: index === 0 ? DASHES[0] : "dashed" },
        data: track.points.map(([x, value]) => [x, value / units[at]!.factor]),
      })),
    ),
  };
}

function seconds(hovered: Hovered[]): string {
  const at = (hovered[0]?.value as [number, number] | undefined)?.[0] ?? 0;
  return at < 0 ? `${(-at).toFixed(1)} s before the measurement` : `${at.toFixed(1)} s`;
}

function optionOf(theme: Theme, tracks: Track[], begin: number, end: number) {
  const units = tracks.map((track) => unitFor(track.dimension, track.points.map(([, value]) => value)));
  return {
    ...frameOf(theme, tracks, units, begin, end, 0),
    tooltip: {
      ...tooltip(theme),
      trigger: "axis",
      formatter: (hovered: Hovered[]) => {
        const lines = hovered.map((one): [string, string] => {
          const track = tracks[one.seriesIndex ?? 0]!;
          const unit = units[one.seriesIndex ?? 0]!;
          return [track.title, `${inUnit((one.value as [number, number])[1] * unit.factor, unit)} ${unit.symbol}`];
        });
        return tip(seconds(hovered), lines);
      },
    },
    series: tracks.map((track, index) => ({
      type: "line",
      name: track.title,
      xAxisIndex: index,
      yAxisIndex: index,
      showSymbol: track.points.length < 40,
      symbolSize: 4,
      color: theme.accent,
      lineStyle: { width: 1.8 },
      areaStyle: { opacity: 0.08 },
      data: track.points.map(([at, value]) => [at, value / units[index]!.factor]),
      ...(begin < 0 && {
        markArea: {
          silent: true,
          itemStyle: { color: theme.shade },
          label: { show: index === 0, position: "insideTopLeft", color: theme.muted, fontSize: 11 },
          data: [[{ name: "warm-up", xAxis: Math.floor(begin * 2) / 2 }, { xAxis: 0 }]],
        },
      }),
    })),
  };
}

/** The axes of tracks below each other, from `above` px below the top. */
function frameOf(theme: Theme, tracks: Track[], units: Unit[], begin: number, end: number, above: number) {
  const last = tracks.length - 1;
  return {
    ...base(theme),
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    grid: tracks.map((_, index) => ({
      left: 72,
      right: 20,
      top: 28 + above + index * (TRACK_HEIGHT + TRACK_GAP),
      height: TRACK_HEIGHT,
    })),
    xAxis: tracks.map((_, index) => ({
      ...axis(theme, index === last ? "seconds from the start of the measurement" : ""),
      type: "value",
      gridIndex: index,
      min: Math.floor(begin * 2) / 2,
      max: Math.ceil(end * 2) / 2,
      nameGap: 26,
      axisLabel: { show: index === last, color: theme.muted, showMinLabel: false, showMaxLabel: false },
      splitLine: { show: false },
    })),
    yAxis: tracks.map((track, index) => ({
      ...axis(theme, ""),
      name: `${track.title}, ${units[index]!.symbol}${track.dimension === "cpus" ? " of one" : ""}`,
      nameLocation: "end",
      nameTextStyle: { color: theme.text, align: "left", padding: [0, 0, 0, -64], fontSize: 12, fontWeight: 600 },
      nameGap: 13,
      axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
      type: "value",
      gridIndex: index,
      min: 0,
      splitNumber: 2,
    })),
  };
}
