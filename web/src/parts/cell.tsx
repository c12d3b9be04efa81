// A number in the table: half-width, interval, each trial as a dot, share of the best, and a mark if it is in doubt.

import { useContext } from "preact/hooks";
import { hasNoBound, isEstimate, isLowerBound, noBound, positionOf, type Group, type Metric, type Row } from "../data.ts";
import { infoOf, isExact, isSigned, metricOf, quantityOf, unitFigureOf, type Figure } from "../figures.ts";
import { warningsOf } from "../warnings.ts";
import { digits, inUnit, percent, shownInterval, signedInterval, unitFor, words, type Unit } from "../format.ts";
import { METRIC, toBaseUnit } from "../metrics.ts";
import { PrintContext } from "../theme.ts";

export interface Scale {
  unit: Unit;
  /** Whether equal distances are equal factors. */
  logarithmic: boolean;
  /** Position of a value on the bar, 0 to 1. */
  at: (value: number) => number;
}

/** Bars of values that differ by more than this factor are logarithmic: on a linear scale the short ones would be a pixel wide. */
const LINEAR_SPREAD = 20;

function unitOf(rows: Row[], figure: Figure): Unit {
  const values = rows.flatMap((row) => positionOf(quantityOf(row, figure)) ?? []);
  return unitFor(infoOf(figure).dimension, values.map((value) => Math.abs(toBaseUnit(figure, value))));
}

export function scaleOf(rows: Row[], figure: Figure): Scale {
  const values: number[] = [];
  let max = 0;
  for (const row of rows) {
    const quantity = quantityOf(row, figure);
    const position = positionOf(quantity);
    if (position === null) continue;
    values.push(toBaseUnit(figure, position));
    max = Math.max(max, toBaseUnit(figure, isEstimate(quantity) ? quantity.high : position));
  }
  const highest = Math.max(0, ...values);
  const lowest = Math.min(highest, ...values.filter((value) => value > 0));
  // An unbounded interval must not flatten all bars.
  max = Math.min(max, 1.6 * highest);
  const logarithmic = highest > LINEAR_SPREAD * lowest;
  // The shortest bar is visible, too.
  const origin = lowest / 2;
  const share = (value: number) => (logarithmic ? Math.log(Math.max(value, origin) / origin) / Math.log(max / origin) : value / max);
  const at = (value: number) => (max > 0 ? Math.max(0, Math.min(1, share(value))) : 0);
  return { unit: unitOf(rows, unitFigureOf(figure)), logarithmic, at };
}

/** The value of each trial. For interleaved services the estimate is over windows, which have a chart of their own. */
export const trialsOf = (row: Row, metric: Metric): number[] =>
  (row.details?.interleaved?.length ?? 0) > 0 ? [] : (row.details?.points ?? []).flatMap((point) => (point.excluded == null && typeof point[metric] === "number" ? [point[metric]] : []));

/** The best point of the ranked services, the reference for shares. */
export function bestOf(group: Group): number | null {
  const exact = group.services.filter((row) => row.rank !== null && !isLowerBound(row, group.ranked_by));
  const points = exact.flatMap((row) => positionOf(row[group.ranked_by]) ?? []);
  if (points.length === 0) return null;
  return METRIC[group.ranked_by].better === "lower" ? Math.min(...points) : Math.max(...points);
}

/** Minimum width of an interval, px, so that it is visible. */
const MIN_INTERVAL_WIDTH = 2;

/** Each dot of a trial has its own line below the bar: equal values do not cover each other. */
const FIRST_DOT_Y = 12;
const DOT_STEP = 3.2;
const DOT_LINES = 5;

const segment = (left: string, right: string, colour: string) => `linear-gradient(90deg, #0000 ${left}, ${colour} ${left} ${right}, #0000 ${right})`;

/**
 * Bar, interval and dots as backgrounds: otherwise 400 rows would have 12,000 elements, all of which are laid out at
 * each sort. In a PDF each background would become a picture of a whole page: paper gets a drawing.
 */
function Track(props: { at: (value: number) => string; point: number; low: number; high: number; trials: number[] }) {
  const { at, trials } = props;
  const low = at(props.low);
  const dotY = (index: number) => FIRST_DOT_Y + DOT_STEP * (index % DOT_LINES);
  const height = `${trials.length > 0 ? dotY(Math.min(trials.length, DOT_LINES) - 1) + 3 : 11}px`;
  if (useContext(PrintContext))
    return (
      <svg class="track" aria-hidden="true" style={{ height }}>
        <rect class="ground" y="1.5" width="100%" height="6" />
        <rect class="value" y="1.5" width={at(props.point)} height="6" />
        <line class="interval" x1={low} x2={at(props.high)} y1="4.5" y2="4.5" />
        {trials.map((trial, index) => (
          <circle key={index} cx={at(trial)} cy={dotY(index)} r="1.1" />
        ))}
      </svg>
    );
  const layers = [
    ...trials.map((trial, index) => `radial-gradient(circle at ${at(trial)} ${dotY(index)}px, var(--text) 1px, #0000 1.6px)`),
    `${segment(low, `max(${at(props.high)}, ${low} + ${MIN_INTERVAL_WIDTH}px)`, "var(--interval)")} 0 0 / 100% 9px no-repeat`,
    `${segment("0%", at(props.point), "var(--fill)")} 0 1.5px / 100% 6px no-repeat`,
    "linear-gradient(var(--raised)) 0 1.5px / 100% 6px no-repeat",
  ];
  return <span class="track" data-trials={trials.length} aria-hidden="true" style={{ background: layers.join(", "), height }} />;
}

/** How a service compares with the first: with an interval where the data has one. */
function relative(row: Row, share: number): string {
  const ratio = row.ratio_to_first;
  if (!ratio) return `${percent(share)} of the best`;
  if (ratio.low === ratio.high) return "1 ×";
  const { value, half } = shownInterval(ratio, digits);
  return `${value} × ${half}`.trim();
}

export function Cell(props: { group: Group; row: Row; figure: Figure; scale: Scale; best: number | null }) {
  const { group, row, figure, scale, best } = props;
  const quantity = quantityOf(row, figure);
  const position = positionOf(quantity);
  if (hasNoBound(quantity)) {
    const isLate = figure === "steady_rate_s";
    const title = isLate ? "The load ended before the rate was steady" : "More requests had no valid reply than the percentile leaves out";
    return <span title={title}>{isLate ? noBound(quantity).replace("no bound", "> load") : noBound(quantity)}</span>;
  }
  if (quantity == null || position === null) return <span class="quiet">{figure === metricOf(figure) ? "not known" : "–"}</span>;
  const at = (value: number) => `${(100 * scale.at(toBaseUnit(figure, value))).toFixed(1)}%`;
  const atLeast = isLowerBound(row, figure) ? "≥ " : "";
  const doubts = warningsOf(group, row, metricOf(figure));
  const mark = doubts.length > 0 && (
    <span class="sign" title={doubts.map((warning) => warning.text).join("; ")}>
      {" "}
      ⚠<span class="hidden"> in doubt: {doubts.map((warning) => words(warning.kind)).join(", ")}</span>
    </span>
  );
  const share = best !== null && best > 0 && figure === group.ranked_by && row.rank !== null && atLeast === "" && <small class="share">{relative(row, position / best)}</small>;
  const show = (value: number) => inUnit(toBaseUnit(figure, value), scale.unit);
  const interval = isSigned(figure) ? signedInterval : shownInterval;
  const text = isEstimate(quantity) ? interval(quantity, show) : { value: show(position), half: "" };
  const number = (
    <span class="nowrap">
      {atLeast}
      <span class={doubts.length > 0 ? "doubted" : ""}>{text.value}</span>
      {mark}
    </span>
  );
  if (isExact(figure)) return <span class="number">{number}</span>;
  if (!isEstimate(quantity)) {
    return (
      <span class="number" title="A single trial has no interval">
        {number} <small>1 trial</small>
        {share}
      </span>
    );
  }
  const range = `${show(quantity.low)} to ${show(quantity.high)} ${scale.unit.symbol}`;
  return (
    <span class="number" title={atLeast ? `The generator was the limit: at least ${range}` : range}>
      {number} <small>{text.half}</small>
      {row.sustained_per_s !== undefined && figure === group.ranked_by && <small class="share">sustains {show(row.sustained_per_s)}</small>}
      <Track at={at} point={quantity.point} low={quantity.low} high={quantity.high} trials={figure === metricOf(figure) ? trialsOf(row, metricOf(figure)) : []} />
      {share}
    </span>
  );
}
