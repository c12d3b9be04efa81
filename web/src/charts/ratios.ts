// An interleaved ranking: the ratio of each service to the best one, with 1 marked.

import { comparisonsOf } from "../comparisons.ts";
import { idOf, type Group, type Row, type Services } from "../data.ts";
import { ratio } from "../format.ts";
import { metricName } from "../metrics.ts";
import type { Theme } from "../theme.ts";
import { axis, base, FONT, shortName, tip, tooltip, type Chart, type Hovered } from "./chart.ts";

interface Api {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
}

interface Line {
  name: string;
  point: number;
  low: number;
  high: number;
}

const ROW = 26;
const AROUND = 66;

function drawn(theme: Theme, seen: Line[]) {
  return (_: unknown, api: Api) => {
    const line = seen[api.value(1)]!;
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
          style: { text: said(line), fill: theme.muted, fontSize: 12, fontFamily: FONT, verticalAlign: "middle" },
        },
      ],
    };
  };
}

const said = (line: Line): string => (line.low === line.high ? "1" : `${ratio(line.low)}–${ratio(line.high)} ×`);

export function ratios(group: Group, rows: Row[], services: Services): Chart | null {
  const comparisons = comparisonsOf(group);
  const able = rows.filter((row) => row.rank !== null && comparisons.has(idOf(row)));
  const best = group.services.find((row) => row.rank !== null && comparisons.has(idOf(row)));
  if (!best || able.length < 2) return null;
  const name = services.name(idOf(best));
  const shown = able.flatMap((row): Line[] => {
    const id = idOf(row);
    const side = comparisons.of(id, idOf(best));
    if (side) return [{ name: services.name(id), ...side }];
    return row === best ? [{ name: services.name(id), point: 1, low: 1, high: 1 }] : [];
  });
  const ends = shown.flatMap((line) => [line.point, Math.min(line.high, 1.6 * line.point), Math.max(line.low, line.point / 1.6)]);
  const [from, to] = [Math.min(0.95, ...ends), Math.max(1.05, ...ends)];
  const metric = metricName(group.ranked_by);
  return {
    id: "ratios",
    title: `${metric}, times that of ${name}`,
    reading: "The line at 1 is the first of the ranking. A service whose interval reaches 1 is statistically tied with it. The scale is logarithmic: twice and half are equally far from 1.",
    height: AROUND + shown.length * ROW,
    rows: { count: shown.length, height: ROW, around: AROUND },
    table: {
      head: ["Service", `${metric}, times that of ${name}`, "low", "high"],
      rows: shown.map((line) => [line.name, ratio(line.point), ratio(line.low), ratio(line.high)]),
    },
    option: (theme, width, part) => {
      const seen = part ? shown.slice(part.from, part.to) : shown;
      const room = Math.min(Math.max(90, width * 0.3), 230);
      return {
        ...base(theme),
        grid: { left: room, right: 96, top: 24, bottom: 42 },
        tooltip: {
          ...tooltip(theme),
          trigger: "item",
          formatter: (hovered: Hovered) => {
            const line = seen[hovered.dataIndex]!;
            return tip(line.name, [["ratio", ratio(line.point)], ["interval", said(line)]]);
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
        yAxis: {
          ...axis(theme, ""),
          type: "category",
          inverse: true,
          data: seen.map((line) => shortName(line.name, Math.floor((room - 12) / 6.6))),
          axisTick: { show: false },
          axisLabel: { color: theme.text, fontSize: 13, interval: 0 },
        },
        series: [
          {
            type: "custom",
            clip: false,
            renderItem: drawn(theme, seen),
            encode: { x: 0, y: 1 },
            data: seen.map((line, index) => [line.point, index]),
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
