// An interleaved ranking: the CPU time per request of each service in each cycle, with the cycles that neighbours
// disturbed, and the ratio of each service to the best one.

import { comparisonsOf } from "../comparisons.ts";
import { idOf, type Group, type Row, type Services, type Window } from "../data.ts";
import { humanize, inUnit, percent, ratio, unitFor } from "../format.ts";
import { metricName } from "../metrics.ts";
import { DASHES, MAX_LINES, SYMBOLS, type Theme } from "../theme.ts";
import { axis, base, FONT, legend, legendHeight, logBase, nameAxis, textWidth, tip, tooltip, type Chart, type Hovered, type RenderApi } from "./chart.ts";

/** Share of the machine above which a cycle is marked: the limit at which prony itself considers a trial disturbed. */
const DISTURBED_SHARE = 0.05;

interface Line {
  name: string;
  /** Position among all cycles of all rounds, and CPU time of a request in ns. */
  points: [number, number][];
  usual: number;
}

interface Cycle {
  round: number;
  cycle: number;
  /** Share of the machine that neighbours used, the median over the services; null if it is not known. */
  others: number | null;
}

const median = (values: number[]): number | null => {
  const sorted = values.slice().sort((left, right) => left - right);
  const half = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return null;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
};

const keyOf = (window: { round: number; cycle: number }): string => `${window.round} ${window.cycle}`;

/** All cycles in chronological order. */
function cyclesOf(windows: Window[], cpus: number): Cycle[] {
  const others = new Map<string, number[]>();
  const cycles = new Map<string, Cycle>();
  for (const window of windows) {
    const key = keyOf(window);
    cycles.set(key, { round: window.round, cycle: window.cycle, others: null });
    if (window.others_cpus !== null) others.set(key, [...(others.get(key) ?? []), window.others_cpus / cpus]);
  }
  const sorted = [...cycles.values()].sort((left, right) => left.round - right.round || left.cycle - right.cycle);
  return sorted.map((one) => ({ ...one, others: median(others.get(keyOf(one)) ?? []) }));
}

/** Adjacent cycles that neighbours disturbed, as ranges of positions. */
function disturbedRanges(cycles: Cycle[]): [number, number][] {
  const ranges: [number, number][] = [];
  cycles.forEach(({ others }, place) => {
    if (others === null || others <= DISTURBED_SHARE) return;
    const last = ranges.at(-1);
    if (last && last[1] === place - 1) last[1] = place;
    else ranges.push([place, place]);
  });
  return ranges;
}

export function interleaved(rows: Row[], services: Services, cpus: number): Chart | null {
  const participants = rows.filter((row) => (row.details?.interleaved?.length ?? 0) > 0);
  if (participants.length === 0) return null;
  const cycles = cyclesOf(participants.flatMap((row) => row.details!.interleaved!), cpus);
  const places = new Map(cycles.map((cycle, place) => [keyOf(cycle), place]));
  const lines = participants.map((row): Line => {
    const points = row.details!.interleaved!.flatMap((window): [number, number][] =>
      window.cpu_ns_per_request === null ? [] : [[places.get(keyOf(window))!, window.cpu_ns_per_request]],
    );
    return { name: services.name(idOf(row)), points, usual: median(points.map(([, cost]) => cost)) ?? 0 };
  });
  const measured = lines.filter((line) => line.points.length > 0);
  if (measured.length === 0) return null;
  const ranges = disturbedRanges(cycles);
  const disturbedCycles = ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  const usual = median(cycles.flatMap(({ others }) => (others === null || others <= DISTURBED_SHARE ? [] : [others])));
  const unit = unitFor("time", measured.map((line) => line.usual));
  const disturbance =
    disturbedCycles === 0
      ? "No cycle was disturbed."
      : `Shaded: the ${disturbedCycles} of ${cycles.length} cycles in which neighbours used more than a twentieth of the machine (usually ${percent(usual ?? 0)}).`;
  return {
    id: "interleaved",
    title: `CPU time per request in each cycle, ${unit.symbol}`,
    reading: `Each point is a window. Movement that all lines share comes from the machine; only the distances between them are compared. ${disturbance}`,
    height: 380 + legendHeight(measured.slice(0, MAX_LINES).map((line) => line.name), 1080),
    table: {
      head: ["Service", `CPU per request, ${unit.symbol}, median window`, "Replies per second of CPU", "Windows"],
      rows: measured.map((line) => [
        line.name,
        inUnit(line.usual, unit),
        humanize(1e9 / line.usual, "rate"),
        String(line.points.length),
      ]),
    },
    option: (theme, width) => optionOf(theme, width, measured.slice(0, MAX_LINES), cycles, ranges),
  };
}

function optionOf(theme: Theme, width: number, lines: Line[], cycles: Cycle[], ranges: [number, number][]) {
  const costs = lines.flatMap((line) => line.points.map(([, cost]) => cost));
  const unit = unitFor("time", lines.map((line) => line.usual));
  const { height, legend: names } = legend(theme, lines.map((line) => line.name), width);
  const starts = cycles.flatMap((one, place) => (place > 0 && cycles[place - 1]!.round !== one.round ? [place - 0.5] : []));
  return {
    ...base(theme),
    color: theme.lines,
    legend: names,
    grid: { left: 72, right: 20, top: height + 18, bottom: 48 },
    tooltip: {
      ...tooltip(theme),
      trigger: "axis",
      formatter: (hovered: Hovered[]) => {
        const place = (hovered[0]?.value as [number, number] | undefined)?.[0] ?? 0;
        const cycle = cycles[place];
        const costs = hovered.map((one): [string, string] => [
          one.seriesName ?? "",
          humanize((one.value as [number, number])[1] * unit.factor, "time"),
        ]);
        const others: [string, string][] = cycle?.others == null ? [] : [["neighbours, of the machine", percent(cycle.others)]];
        return tip(cycle ? `round ${cycle.round + 1}, cycle ${cycle.cycle + 1}` : "", [...costs, ...others]);
      },
    },
    xAxis: { ...axis(theme, "cycles of all rounds"), type: "value", min: -0.5, max: cycles.length - 0.5, minInterval: 1, nameGap: 28, splitLine: { show: false } },
    yAxis: { ...axis(theme, `CPU per request, ${unit.symbol}`), type: "log", logBase: logBase(costs), nameGap: 48 },
    series: lines.map((line, index) => ({
      type: "line",
      name: line.name,
      showSymbol: true,
      symbol: SYMBOLS[index]!,
      symbolSize: 4,
      lineStyle: { width: 1.2, type: DASHES[index]! },
      data: line.points.map(([place, cost]) => [place, cost / unit.factor]),
      ...(index === 0 && {
        markArea: {
          silent: true,
          itemStyle: { color: theme.shade },
          data: ranges.map(([from, to]) => [{ xAxis: from - 0.5 }, { xAxis: to + 0.5 }]),
        },
        markLine: {
          silent: true,
          symbol: "none",
          label: { show: false },
          lineStyle: { color: theme.muted, type: "dashed" },
          data: starts.map((place) => ({ xAxis: place })),
        },
      }),
    })),
  };
}

interface RatioLine {
  name: string;
  point: number;
  low: number;
  high: number;
}

const ROW_HEIGHT = 30;
const [TOP, BOTTOM] = [24, 42];

function ratioMark(theme: Theme, lines: RatioLine[]) {
  return (_: unknown, api: RenderApi) => {
    const line = lines[api.value(1)]!;
    const [x, y] = api.coord([line.point, api.value(1)]);
    const [left] = api.coord([line.low, api.value(1)]);
    const [right] = api.coord([line.high, api.value(1)]);
    return {
      type: "group",
      children: [
        { type: "line", shape: { x1: left, y1: y, x2: right, y2: y }, style: { stroke: theme.whisker, lineWidth: 1.5 } },
        { type: "circle", shape: { cx: x, cy: y, r: 4.5 }, style: { fill: theme.accent } },
        {
          type: "text",
          x: right + 8,
          y,
          style: { text: ratioText(line), fill: theme.muted, fontSize: 12, fontFamily: FONT, verticalAlign: "middle" },
        },
      ],
    };
  };
}

const ratioText = (line: RatioLine): string => (line.low === line.high ? "1" : `${ratio(line.low)}–${ratio(line.high)} ×`);

export function ratios(group: Group, rows: Row[], services: Services): Chart | null {
  const comparisons = comparisonsOf(group);
  const ranked = rows.filter((row) => row.rank !== null && comparisons.has(idOf(row)));
  const best = group.services.find((row) => row.rank !== null && comparisons.has(idOf(row)));
  if (!best || ranked.length < 2) return null;
  const name = services.name(idOf(best));
  const shown = ranked.flatMap((row): RatioLine[] => {
    const id = idOf(row);
    const pairRatio = comparisons.ratio(id, idOf(best));
    if (pairRatio) return [{ name: services.name(id), ...pairRatio }];
    return row === best ? [{ name: services.name(id), point: 1, low: 1, high: 1 }] : [];
  });
  const ends = shown.flatMap((line) => [line.point, Math.min(line.high, 1.6 * line.point), Math.max(line.low, line.point / 1.6)]);
  const [from, to] = [Math.min(0.95, ...ends), Math.max(1.05, ...ends)];
  const metric = metricName(group.ranked_by);
  return {
    id: "ratios",
    title: `${metric}, times that of ${name}`,
    reading: "The line at 1 is the first of the ranking. A service whose interval reaches 1 is statistically tied with it. The scale is logarithmic: twice and half are equally far from 1.",
    height: TOP + BOTTOM + shown.length * ROW_HEIGHT,
    rows: { count: shown.length, height: ROW_HEIGHT, above: TOP, below: BOTTOM },
    table: {
      head: ["Service", `${metric}, times that of ${name}`, "low", "high"],
      rows: shown.map((line) => [line.name, ratio(line.point), ratio(line.low), ratio(line.high)]),
    },
    option: (theme, width, range) => {
      const visible = range ? shown.slice(range.from, range.to) : shown;
      const nameWidth = Math.min(Math.max(90, width * 0.34), 230);
      const labelWidth = 14 + Math.max(...shown.map((line) => textWidth(ratioText(line))));
      return {
        ...base(theme),
        grid: { left: nameWidth, right: labelWidth, top: TOP, bottom: BOTTOM },
        tooltip: {
          ...tooltip(theme),
          trigger: "item",
          formatter: (hovered: Hovered) => {
            const line = visible[hovered.dataIndex]!;
            return tip(line.name, [["ratio", ratio(line.point)], ["interval", ratioText(line)]]);
          },
        },
        xAxis: {
          ...axis(theme, `times ${name}`),
          type: "log",
          logBase: to / from > 30 ? 10 : 2,
          min: from,
          max: to,
          nameGap: 26,
          axisLabel: { color: theme.muted, fontSize: 12, hideOverlap: true, formatter: (value: number) => ratio(value) },
        },
        yAxis: nameAxis(theme, visible.map((line) => line.name), nameWidth),
        series: [
          {
            type: "custom",
            clip: false,
            renderItem: ratioMark(theme, visible),
            encode: { x: 0, y: 1 },
            data: visible.map((line, index) => [line.point, index]),
            markLine: {
              silent: true,
              symbol: "none",
              lineStyle: { color: theme.text, type: "dashed", width: 1.5 },
              label: { position: "start", color: theme.text, fontSize: 12, formatter: "1" },
              data: [{ xAxis: 1 }],
            },
          },
        ],
      };
    },
  };
}
