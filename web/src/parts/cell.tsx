// A number in the table: half-width, interval, each trial as a dot, share of the best, and a mark if it is in doubt.

import { hasNoBound, isEstimate, isLowerBound, noBound, positionOf, type Group, type Metric, type Row } from "../data.ts";
import { warningsOf } from "../warnings.ts";
import { digits, inUnit, percent, shownInterval, unitFor, words, type Unit } from "../format.ts";
import { METRIC, toBaseUnit } from "../metrics.ts";

export interface Scale {
  unit: Unit;
  max: number;
}

export function scaleOf(rows: Row[], metric: Metric): Scale {
  const values: number[] = [];
  let max = 0;
  let point = 0;
  for (const row of rows) {
    const quantity = row[metric];
    const position = positionOf(quantity);
    if (position === null) continue;
    values.push(toBaseUnit(metric, position));
    point = Math.max(point, toBaseUnit(metric, position));
    max = Math.max(max, toBaseUnit(metric, isEstimate(quantity) ? quantity.high : position));
  }
  // An unbounded interval must not flatten all bars.
  max = Math.min(max, 1.6 * point);
  return { unit: unitFor(METRIC[metric].dimension, values), max };
}

/** The value of each trial. For interleaved services the estimate is over windows, which have a chart of their own. */
export const trialsOf = (row: Row, metric: Metric): number[] =>
  (row.details?.interleaved?.length ?? 0) > 0 ? [] : (row.details?.points ?? []).flatMap((point) => (point.excluded == null && point[metric] !== undefined ? [point[metric]] : []));

/** The best point of the ranked services, the reference for shares. */
export function bestOf(group: Group): number | null {
  const points = group.services.flatMap((row) => (row.rank === null ? [] : (positionOf(row[group.ranked_by]) ?? [])));
  if (points.length === 0) return null;
  return METRIC[group.ranked_by].better === "lower" ? Math.min(...points) : Math.max(...points);
}

/** Minimum width of an interval, px, so that it is visible. */
const MIN_INTERVAL_WIDTH = 2;

const segment = (left: string, right: string, colour: string) => `linear-gradient(90deg, #0000 ${left}, ${colour} ${left} ${right}, #0000 ${right})`;

/**
 * Bar, interval and dots as backgrounds: otherwise 400 rows would have 12,000 elements, all of which are laid out at
 * each sort.
 */
function Track(props: { at: (value: number) => string; point: number; low: number; high: number; trials: number[] }) {
  const { at, trials } = props;
  const low = at(props.low);
  const layers = [
    ...trials.map((trial) => `radial-gradient(circle at ${at(trial)} 10px, var(--text) 1.5px, #0000 2.1px)`),
    `${segment(low, `max(${at(props.high)}, ${low} + ${MIN_INTERVAL_WIDTH}px)`, "var(--interval)")} 0 0 / 100% 9px no-repeat`,
    `${segment("0%", at(props.point), "var(--fill)")} 0 1.5px / 100% 6px no-repeat`,
    "linear-gradient(var(--raised)) 0 1.5px / 100% 6px no-repeat",
  ];
  return <span class="track" data-trials={trials.length} aria-hidden="true" style={{ background: layers.join(", ") }} />;
}

/** How a service compares with the first: with an interval where the data has one. */
function relative(row: Row, share: number): string {
  const ratio = row.ratio_to_first;
  if (!ratio) return `${percent(share)} of the best`;
  if (ratio.low === ratio.high) return "the first";
  const { value, half } = shownInterval(ratio, digits);
  return `${value} × the first${half && `, ${half}`}`;
}

export function Cell(props: { group: Group; row: Row; metric: Metric; scale: Scale; best: number | null }) {
  const { group, row, metric, scale, best } = props;
  const quantity = row[metric];
  const position = positionOf(quantity);
  if (hasNoBound(quantity)) return <span title="More requests than the percentile leaves out had no valid reply">{noBound(quantity)}</span>;
  if (quantity == null || position === null) return <span class="quiet">not known</span>;
  const at = (value: number) => `${Math.min(100, (100 * toBaseUnit(metric, value)) / scale.max).toFixed(1)}%`;
  const atLeast = isLowerBound(row, metric) ? "≥ " : "";
  const doubts = warningsOf(group, row, metric);
  const mark = doubts.length > 0 && (
    <span class="sign" title={doubts.map((warning) => warning.text).join("; ")}>
      {" "}
      ⚠<span class="hidden"> in doubt: {doubts.map((warning) => words(warning.kind)).join(", ")}</span>
    </span>
  );
  const share = best !== null && best > 0 && metric === group.ranked_by && row.rank !== null && <small class="share">{relative(row, position / best)}</small>;
  const show = (value: number) => inUnit(toBaseUnit(metric, value), scale.unit);
  const text = isEstimate(quantity) ? shownInterval(quantity, show) : { value: show(position), half: "" };
  const number = (
    <>
      {atLeast}
      <span class={doubts.length > 0 ? "doubted" : ""}>{text.value}</span>
      {mark}
    </>
  );
  if (!isEstimate(quantity)) {
    return (
      <span class="number" title="A single trial has no interval">
        {number} <small>1 trial</small>
        {share}
      </span>
    );
  }
  const range = `${inUnit(toBaseUnit(metric, quantity.low), scale.unit)} to ${inUnit(toBaseUnit(metric, quantity.high), scale.unit)} ${scale.unit.symbol}`;
  return (
    <span class="number" title={atLeast ? `The generator was the limit: at least ${range}` : range}>
      {number} <small>{text.half}</small>
      {row.sustained_per_s !== undefined && metric === group.ranked_by && <small class="share">a further start sustains {show(row.sustained_per_s)}</small>}
      <Track at={at} point={quantity.point} low={quantity.low} high={quantity.high} trials={trialsOf(row, metric)} />
      {share}
    </span>
  );
}
