// The definition of a chart: pure data in, an ECharts option and a table with the same numbers out.

import type { EChartsCoreOption } from "echarts/core";
import type { Theme } from "../theme.ts";

interface Table {
  head: string[];
  rows: string[][];
}

/** The visible rows of a long chart; `to` is exclusive. */
interface RowRange {
  from: number;
  to: number;
}

export interface Chart {
  /** Name of the exported file, and of the element. */
  id: string;
  /** The content of the chart, with the unit. */
  title: string;
  /** How to read it, in a sentence. */
  reading: string;
  /** In px. */
  height: number;
  option(theme: Theme, width: number, range?: RowRange): EChartsCoreOption;
  /** A long chart of rows scrolls by itself: number of rows, height of each, and height of everything above and below them. */
  rows?: { count: number; height: number; above: number; below: number };
  /** The same numbers, for readers who cannot see the chart. */
  table: Table;
}

/** The parts of ECharts' callback parameters that the charts use. */
export interface Hovered {
  seriesName?: string;
  name?: string;
  value?: unknown;
  dataIndex: number;
  seriesIndex?: number;
  color?: unknown;
}

/** The parts of the API of ECharts' `renderItem` that the charts use. */
export interface RenderApi {
  value(dimension: number): number;
  coord(point: [number, number]): [number, number];
}

/** A tooltip made of elements: text is never parsed as HTML. */
export function tip(title: string, lines: [string, string][]): HTMLElement {
  const box = document.createElement("div");
  box.className = "tip";
  const head = document.createElement("strong");
  head.textContent = title;
  box.append(head);
  for (const [label, value] of lines) {
    const line = document.createElement("div");
    const name = document.createElement("span");
    name.textContent = label;
    const number = document.createElement("b");
    number.textContent = value;
    line.append(name, number);
    box.append(line);
  }
  return box;
}

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

export const base = (theme: Theme) => ({
  backgroundColor: theme.background,
  animation: false,
  textStyle: { fontFamily: FONT, color: theme.text },
});

export const tooltip = (theme: Theme) => ({
  confine: true,
  backgroundColor: theme.background,
  borderColor: theme.line,
  textStyle: { color: theme.text, fontSize: 13 },
  transitionDuration: 0,
});

export const axis = (theme: Theme, name: string) => ({
  name,
  nameLocation: "middle" as const,
  nameTextStyle: { color: theme.muted, fontSize: 12 },
  axisLine: { show: true, lineStyle: { color: theme.line } },
  axisTick: { lineStyle: { color: theme.line } },
  axisLabel: { color: theme.muted, fontSize: 12, hideOverlap: true },
  splitLine: { lineStyle: { color: theme.line } },
});

/**
 * A name of at most `max` letters. A variant in parentheses is kept, because it distinguishes the name from others.
 */
function shortName(name: string, max: number): string {
  if (name.length <= max) return name;
  const at = name.endsWith(")") ? name.lastIndexOf(" (") : -1;
  const variant = at < 0 || name.length - at + 6 > max ? "" : name.slice(at);
  return `${name.slice(0, max - variant.length - 1)}…${variant}`;
}

/** A name on one line of `max` letters, or on two; only a name that does not fit on two is shortened. */
function onTwoLines(name: string, max: number): string {
  if (name.length <= max) return name;
  const breaks = [...name.slice(0, max + 1).matchAll(/[ /-]/g)].map(({ index }) => index);
  const at = breaks.at(-1) ?? -1;
  if (at <= 0) return shortName(name, max);
  // A space ends the first line invisibly; another character stays there.
  const first = name.slice(0, name[at] === " " ? at : at + 1);
  return `${first}\n${shortName(name.slice(at + 1), max)}`;
}

/** The vertical axis of a chart with a row per service; its names fit in `width` px. */
export const nameAxis = (theme: Theme, names: string[], width: number) => ({
  ...axis(theme, ""),
  type: "category",
  inverse: true,
  data: names.map((name) => onTwoLines(name, Math.floor((width - 12) / 6.6))),
  axisTick: { show: false },
  axisLabel: { color: theme.text, fontSize: 12.5, lineHeight: 14, interval: 0 },
});

/** Width of a text of labels, px. */
export const textWidth = (text: string): number => Math.ceil(6.9 * text.length);

/** Base of a logarithmic axis: powers of ten label a wide one, but leave a narrow one with a single label. */
export const logBase = (values: number[]): number => {
  const positive = values.filter((value) => value > 0);
  return Math.max(...positive) / Math.min(...positive) > 200 ? 10 : 2;
};

const LEGEND_ROW_HEIGHT = 24;
const LEGEND_SYMBOL_WIDTH = 48;
const LETTER_WIDTH = 6;

/** The height of a legend that wraps. */
export function legendHeight(names: string[], width: number): number {
  let rows = 1;
  let used = 0;
  for (const name of names) {
    const needed = LEGEND_SYMBOL_WIDTH + name.length * LETTER_WIDTH;
    if (used > 0 && used + needed > width) {
      rows += 1;
      used = 0;
    }
    used += needed;
  }
  return rows * LEGEND_ROW_HEIGHT;
}

/** Width of a chart that takes half of the page, or all of a narrow one. */
export const halfPageWidth = (): number => Math.min(540, innerWidth - 40);

/** Height of the frame in which a long chart scrolls, px. */
export const FRAME_HEIGHT = 620;

/** Whether a chart is too long to be shown at once. */
const isLong = (chart: Chart): boolean => chart.rows !== undefined && chart.height > FRAME_HEIGHT + 2 * chart.rows.height;

/** The rows of a long chart that are in its frame at this scroll position. */
export function visibleRange(chart: Chart, scrolled: number): RowRange | undefined {
  if (!chart.rows || !isLong(chart)) return undefined;
  const { count, height, above, below } = chart.rows;
  const fit = Math.floor((FRAME_HEIGHT - above - below) / height);
  const from = Math.max(0, Math.min(count - fit, Math.round(scrolled / height)));
  return { from, to: Math.min(count, from + fit) };
}

/** A legend that wraps, and the height that it takes at this width. */
export function legend(theme: Theme, names: string[], width: number) {
  return {
    height: legendHeight(names, width),
    legend: { top: 0, left: 0, itemWidth: 26, itemGap: 16, textStyle: { color: theme.text, fontSize: 12 } },
  };
}
