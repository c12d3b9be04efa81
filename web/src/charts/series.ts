// One trial over time: throughput, p99, CPU and memory under each other, with the warm-up shaded.

import { type Row } from "../data.ts";
import { howLong, human, inUnit, unitFor, words, type Dimension } from "../format.ts";
import type { Theme } from "../theme.ts";
import { axis, base, tip, tooltip, type Chart, type Hovered } from "./chart.ts";

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
      const found = value(item);
      return found === null ? [] : [[at(item), found] as [number, number]];
    });
  const tracks: Track[] = [
    { title: "Throughput", dimension: "rate", points: keep(series.intervals, (one) => one.at_s, (one) => one.throughput_per_s) },
    { title: "p99", dimension: "time", points: keep(series.intervals, (one) => one.at_s, (one) => one.response_time_ns_p99) },
    { title: "CPU", dimension: "cpus", points: keep(series.resources, (one) => one.at_s, (one) => one.cpus_busy) },
    { title: "Memory", dimension: "bytes", points: keep(series.resources, (one) => one.at_s, (one) => one.memory_bytes) },
  ];
  return tracks.filter((track) => track.points.length > 1);
}

function tableOf(tracks: Track[]) {
  const range = (track: Track, warm: boolean): string => {
    const values = track.points.filter(([at]) => at < 0 === warm).map(([, value]) => value);
    if (values.length === 0) return "none";
    return `${human(Math.min(...values), track.dimension)} – ${human(Math.max(...values), track.dimension)}`;
  };
  return {
    head: ["What", "in the warm-up", "in the measurement"],
    rows: tracks.map((track) => [track.title, range(track, true), range(track, false)]),
  };
}

export function overTime(row: Row, name: string): Chart | null {
  const series = row.details?.series;
  const tracks = tracksOf(row);
  if (!series || tracks.length === 0) return null;
  const begin = Math.min(0, ...tracks.flatMap((track) => track.points.map(([at]) => at)));
  const verdict = series.classification === null ? "" : ` Warm-up: ${words(series.classification)}.`;
  const warmUp = series.warm_up_s === null ? "" : ` after ${howLong(series.warm_up_s)} of warm-up (shaded)`;
  return {
    id: "over-time",
    title: `${name} over time, s`,
    reading: `One trial (round ${series.round + 1}, the median one) second by second${warmUp}. A steady service draws level lines.${verdict}`,
    height: 28 + tracks.length * (TRACK_HEIGHT + TRACK_GAP) + 16,
    table: tableOf(tracks),
    option: (theme) => optionOf(theme, tracks, begin, series.duration_s),
  };
}

function optionOf(theme: Theme, tracks: Track[], begin: number, end: number) {
  const units = tracks.map((track) => unitFor(track.dimension, track.points.map(([, value]) => value)));
  const last = tracks.length - 1;
  return {
    ...base(theme),
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    tooltip: {
      ...tooltip(theme),
      trigger: "axis",
      formatter: (hovered: Hovered[]) => {
        const at = (hovered[0]?.value as [number, number] | undefined)?.[0] ?? 0;
        const lines = hovered.map((one): [string, string] => {
          const track = tracks[one.seriesIndex ?? 0]!;
          const unit = units[one.seriesIndex ?? 0]!;
          return [track.title, `${inUnit((one.value as [number, number])[1] * unit.factor, unit)} ${unit.symbol}`];
        });
        return tip(at < 0 ? `${(-at).toFixed(1)} s before the measurement` : `${at.toFixed(1)} s`, lines);
      },
    },
    grid: tracks.map((_, index) => ({
      left: 72,
      right: 20,
      top: 28 + index * (TRACK_HEIGHT + TRACK_GAP),
      height: TRACK_HEIGHT,
    })),
    xAxis: tracks.map((_, index) => ({
      ...axis(theme, index === last ? "seconds from the begin of the measurement" : ""),
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
