// Bars with the interval as whiskers, in the order of the table.

import { hasNoBound, idOf, isEstimate, isLowerBound, noBound, positionOf, type Group, type Metric, type Row, type Services } from "../data.ts";
import { warningsOf } from "../warnings.ts";
import { inUnit, shownInterval, unitFor, withUnit, type Unit } from "../format.ts";
import { METRIC, metricName, toBaseUnit } from "../metrics.ts";
import { trialsOf } from "../parts/cell.tsx";
import type { Theme } from "../theme.ts";
import { axis, base, FONT, nameAxis, textWidth, tip, tooltip, type Chart, type Hovered, type RenderApi } from "./chart.ts";

interface Bar {
  name: string;
  /** 0 without a bound. */
  value: number;
  /** `no bound` in place of the value. */
  none: string | null;
  low: number | null;
  high: number | null;
  /** The value of each trial. */
  trials: number[];
  warned: boolean;
  /** The generator was the limit. */
  bound: boolean;
}

/** Height of a bar including the gap, of the bar, and of the space below all bars, px. */
const ROW_HEIGHT = 30;
const BAR_HEIGHT = 20;
const BELOW = 26;
/** Each dot of a trial has its own line: equal values do not cover each other. */
const DOT_STEP = 4;
const DOT_LINES = 5;

function barsOf(group: Group, rows: Row[], metric: Metric, services: Services): Bar[] {
  return rows.flatMap((row) => {
    const quantity = row[metric];
    const none = hasNoBound(quantity) ? noBound(quantity) : null;
    const position = none === null ? positionOf(quantity) : 0;
    if (position === null || quantity == null) return [];
    return [
      {
        name: services.name(idOf(row)),
        value: toBaseUnit(metric, position),
        none,
        low: isEstimate(quantity) ? toBaseUnit(metric, quantity.low) : null,
        high: isEstimate(quantity) ? toBaseUnit(metric, quantity.high) : null,
        trials: trialsOf(row, metric).map((value) => toBaseUnit(metric, value)),
        warned: warningsOf(group, row, metric).length > 0,
        bound: isLowerBound(row, metric),
      },
    ];
  });
}

/**
 * A horizontal line from low to high with an end mark on both sides (cut off at `most`), a dot for each trial, and the
 * number to the right.
 */
function whisker(theme: Theme, shown: Bar[], unit: Unit, most: number) {
  return (_: unknown, api: RenderApi) => {
    const bar = shown[api.value(2)]!;
    const [left, y] = api.coord([api.value(0), api.value(2)]);
    const [right] = api.coord([api.value(1), api.value(2)]);
    const text = {
      type: "text",
      x: right + 8,
      y,
      style: { text: barText(bar, unit), fill: theme.muted, fontSize: 12, fontFamily: FONT, verticalAlign: "middle" },
    };
    const middle = (Math.min(bar.trials.length, DOT_LINES) - 1) / 2;
    const dots = bar.trials.map((trial, index) => ({
      type: "circle",
      shape: { cx: api.coord([Math.min(trial, most) / unit.factor, api.value(2)])[0], cy: y + DOT_STEP * ((index % DOT_LINES) - middle), r: 1.7 },
      style: { fill: theme.background, stroke: theme.whisker, lineWidth: 0.8 },
    }));
    if (bar.low === null) return { type: "group", children: [...dots, text] };
    const cut = (bar.high ?? 0) > most;
    const line = (x1: number, y1: number, x2: number, y2: number) => ({
      type: "line",
      shape: { x1, y1, x2, y2 },
      style: { stroke: theme.whisker, lineWidth: 1.5 },
    });
    return {
      type: "group",
      children: [line(left, y, right, y), line(left, y - 4, left, y + 4), ...(cut ? [] : [line(right, y - 4, right, y + 4)]), ...dots, text],
    };
  };
}

function barText(bar: Bar, unit: Unit): string {
  if (bar.none !== null) return bar.none;
  const show = (value: number) => inUnit(value, unit);
  const { value, half } =
    bar.low === null || bar.high === null
      ? { value: show(bar.value), half: "" }
      : shownInterval({ point: bar.value, low: bar.low, high: bar.high }, show);
  return `${bar.bound ? "≥ " : ""}${value}${half && ` ${half}`}${bar.warned ? " ⚠" : ""}`;
}

/** The highest value that any service can reach, as a dashed line with its number above. */
const ceilingLine = (theme: Theme, ceiling: number, unit: Unit, right: boolean) => ({
  silent: true,
  symbol: "none",
  lineStyle: { color: theme.text, type: "dashed", width: 1.5 },
  label: {
    position: "start",
    distance: 4,
    align: right ? "right" : "center",
    color: theme.text,
    fontSize: 12,
    formatter: `ceiling by Little’s law: ${inUnit(ceiling, unit)}`,
  },
  data: [{ xAxis: ceiling / unit.factor }],
});

export function bars(group: Group, rows: Row[], metric: Metric, services: Services): Chart | null {
  const shown = barsOf(group, rows, metric, services);
  if (shown.length === 0) return null;
  const { title, dimension, better } = METRIC[metric];
  const ceiling = dimension === "rate" ? group.ceiling_per_s : null;
  const unit = unitFor(dimension, shown.map((bar) => bar.value));
  const scaled = (value: number) => value / unit.factor;
  // A longer whisker leaves the chart without an end mark: an unbounded interval must not flatten all bars.
  const most = 1.6 * Math.max(...shown.map((bar) => bar.value));
  const longest = Math.max(...shown.map((bar) => bar.name.length));
  const nameWidth = (width: number) => Math.min(Math.max(90, width * 0.34), width > 800 ? 280 : 190, 16 + longest * 7);
  const labelWidth = 14 + Math.max(...shown.map((bar) => textWidth(barText(bar, unit))));
  // A line on the very edge would be cut off.
  const edge = Math.max(1.01 * (ceiling ?? 0), ...shown.map((bar) => Math.min(bar.high ?? bar.value, most)));
  const above = ceiling === null ? 8 : 30;
  const bound = shown.some((bar) => bar.bound) ? " ≥: the generator was the limit, so the service may do more." : "";
  const dots = shown.some((bar) => bar.trials.length > 1) ? " Each dot is one trial." : "";
  const reading = `${better === "lower" ? "Shorter" : "Longer"} is better. The whiskers are the confidence interval over fresh starts; where they overlap widely, do not read a difference.${dots}${bound}`;
  return {
    id: `bars-${metric}`,
    title: `${metricName(metric)}, ${unit.symbol}`,
    reading,
    height: above + BELOW + 6 + shown.length * ROW_HEIGHT,
    rows: { count: shown.length, height: ROW_HEIGHT, above, below: BELOW },
    table: {
      head: ["Service", `${title}, ${unit.symbol}`, "low", "high", "each trial"],
      rows: shown.map((bar) => [
        bar.name + (bar.warned ? " (in doubt)" : ""),
        bar.none ?? (bar.bound ? "≥ " : "") + inUnit(bar.value, unit),
        bar.none !== null ? "–" : bar.low === null ? "too few trials" : inUnit(bar.low, unit),
        bar.none !== null ? "–" : bar.high === null ? "too few trials" : inUnit(bar.high, unit),
        bar.trials.map((trial) => inUnit(trial, unit)).join(" · ") || "–",
      ]),
    },
    option: (theme, width, range) => option(theme, width, range ? shown.slice(range.from, range.to) : shown),
  };

  /** The visible bars, on the scale of all. */
  function option(theme: Theme, width: number, visible: Bar[]) {
    return {
      ...base(theme),
      grid: { left: nameWidth(width), right: labelWidth, top: above, bottom: BELOW },
      tooltip: {
        ...tooltip(theme),
        trigger: "item",
        formatter: (hovered: Hovered) => {
          const bar = visible[hovered.dataIndex]!;
          const lines: [string, string][] = [[title, bar.none ?? (bar.bound ? "≥ " : "") + withUnit(bar.value, unit)]];
          if (bar.low !== null && bar.high !== null)
            lines.push(["interval", `${inUnit(bar.low, unit)} – ${withUnit(bar.high, unit)}`]);
          return tip(bar.name, lines);
        },
      },
      xAxis: { ...axis(theme, ""), type: "value", min: 0, ...((ceiling !== null || visible.length < shown.length) && { max: scaled(edge) }), splitNumber: width < 600 ? 3 : 6 },
      yAxis: nameAxis(theme, visible.map((bar) => bar.name), nameWidth(width)),
      series: [
        {
          type: "bar",
          data: visible.map((bar) => scaled(bar.value)),
          barWidth: BAR_HEIGHT,
          itemStyle: { color: theme.accent, borderRadius: [0, 2, 2, 0] },
          emphasis: { disabled: true },
          ...(ceiling !== null && { markLine: ceilingLine(theme, ceiling, unit, ceiling > edge / 2) }),
        },
        {
          type: "custom",
          silent: true,
          z: 5,
          renderItem: whisker(theme, visible, unit, most),
          clip: false,
          encode: { x: [0, 1], y: 2 },
          data: visible.map((bar, index) => [scaled(bar.low ?? bar.value), scaled(Math.min(bar.high ?? bar.value, most)), index]),
        },
      ],
    };
  }
}
