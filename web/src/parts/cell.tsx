// A number in the table: half-width, interval, each trial as a dot, share of the best, and a mark if it is in doubt.

import { hasNoBound, isEstimate, isLowerBound, noBound, positionOf, type Group, type Metric, type Row } from "../data.ts";
import { warningsOf } from "../warnings.ts";
import { inUnit, percent, shownInterval, unitFor, words, type Unit } from "../format.ts";
import { METRIC, toBase } from "../metrics.ts";

export interface Scale {
  unit: Unit;
  most: number;
}

export function scaleOf(rows: Row[], metric: Metric): Scale {
  const values: number[] = [];
  let most = 0;
  let point = 0;
  for (const row of rows) {
    const quantity = row[metric];
    const position = positionOf(quantity);
    if (position === null) continue;
    values.push(toBase(metric, position));
    point = Math.max(point, toBase(metric, position));
    most = Math.max(most, toBase(metric, isEstimate(quantity) ? quantity.high : position));
  }
  // An unbounded interval must not flatten all bars.
  most = Math.min(most, 1.6 * point);
  return { unit: unitFor(METRIC[metric].dimension, values), most };
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
const LEAST = 2;

const pieces = (left: string, right: string, colour: string) => `linear-gradient(90deg, #0000 ${left}, ${colour} ${left} ${right}, #0000 ${right})`;

/**
 * Bar, interval and dots as backgrounds: otherwise 400 rows would have 12,000 elements, all of which are laid out at
 * each sort.
 */
function Track(props: { at: (value: number) => string; point: number; low: number; high: number; trials: number[] }) {
  const { at, trials } = props;
  const low = at(props.low);
  const layers = [
    ...trials.map((trial) => `radial-gradient(circle at ${at(trial)} 10px, var(--text) 1.5px, #0000 2.1px)`),
    `${pieces(low, `max(${at(props.high)}, ${low} + ${LEAST}px)`, "var(--interval)")} 0 0 / 100% 9px no-repeat`,
    `${pieces("0%", at(props.point), "var(--fill)")} 0 1.5px / 100% 6px no-repeat`,
    "linear-gradient(var(--raised)) 0 1.5px / 100% 6px no-repeat",
  ];
  return <span class="track" data-trials={trials.length} aria-hidden="true" style={{ background: layers.join(", ") }} />;
}

export function Cell(props: { group: Group; row: Row; metric: Metric; scale: Scale; best: number | null }) {
  const { group, row, metric, scale, best } = props;
  const quantity = row[metric];
  const position = positionOf(quantity);
  if (hasNoBound(quantity)) return <span title="More requests than the percentile leaves out had no valid reply">{noBound(quantity)}</span>;
  if (quantity == null || position === null) return <span class="quiet">not known</span>;
  const at = (value: number) => `${Math.min(100, (100 * toBase(metric, value)) / scale.most).toFixed(1)}%`;
  const least = isLowerBound(row, metric) ? "≥ " : "";
  const doubts = warningsOf(group, row, metric);
  const mark = doubts.length > 0 && (
    <span class="sign" title={doubts.map((warning) => warning.text).join("; ")}>
      {" "}
      ⚠<span class="hidden"> in doubt: {doubts.map((warning) => words(warning.kind)).join(", ")}</span>
    </span>
  );
  const share = best !== null && best > 0 && metric === group.ranked_by && row.rank !== null && <small class="share">{percent(position / best)} of the best</small>;
  const show = (value: number) => inUnit(toBase(metric, value), scale.unit);
  const said = isEstimate(quantity) ? shownInterval(quantity, show) : { value: show(position), half: "" };
  const number = (
    <>
      {least}
      <span class={doubts.length > 0 ? "doubted" : ""}>{said.value}</span>
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
  const range = `${inUnit(toBase(metric, quantity.low), scale.unit)} to ${inUnit(toBase(metric, quantity.high), scale.unit)} ${scale.unit.symbol}`;
  return (
    <span class="number" title={least ? `The generator was the limit: at least ${range}` : range}>
      {number} <small>{said.half}</small>
      <Track at={at} point={quantity.point} low={quantity.low} high={quantity.high} trials={trialsOf(row, metric)} />
      {share}
    </span>
  );
}
