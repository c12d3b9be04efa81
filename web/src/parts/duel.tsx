// Two services that the reader picks: their ratio with its interval, their numbers, and both over time.

import { useMemo } from "preact/hooks";
import { comparisonsOf, type Side } from "../comparisons.ts";
import { overEachOther } from "../charts/series.ts";
import { idOf, isEstimate, METRICS, positionOf, type Group, type Metric, type Row, type Services } from "../data.ts";
import { intervalWithUnit, percent, ratio, unitFor, withUnit } from "../format.ts";
import { METRIC, metricName, toBase } from "../metrics.ts";
import { Figure } from "./figure.tsx";
import { Heads } from "./heads.tsx";

const SAID = {
  faster: "is better",
  slower: "is worse",
  same: "is equally good: the difference is too small to matter",
  cannot_tell: "is statistically tied with it: the interval contains 1",
};

function Choice(props: { label: string; rows: Row[]; value: string; services: Services; choose: (id: string) => void }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
        {props.rows.map((row) => (
          <option key={idOf(row)} value={idOf(row)}>
            {props.services.name(idOf(row))}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The ratio on a logarithmic line with 1 in the middle. */
function Line(props: { side: Side }) {
  const { point, low, high } = props.side;
  const far = 1.1 * Math.max(0.05, ...[low, high].map((end) => Math.abs(Math.log(end))));
  const at = (value: number) => Math.round(500 * (1 + Math.max(-1, Math.min(1, Math.log(value) / far))));
  return (
    <svg class="ratio-line" viewBox="0 0 1000 30" preserveAspectRatio="none" aria-hidden="true">
      <path class="ground" d="M0 15H1000" />
      <path class="one" d="M500 0V30" />
      <path class="interval" d={`M${at(low)} 15H${Math.max(at(high), at(low) + 8)}`} />
      <path class="dots" d={`M${at(point)} 15h0`} />
    </svg>
  );
}

function Numbers(props: { rows: [Row, Row]; names: [string, string] }) {
  const { rows, names } = props;
  const told = METRICS.flatMap((metric: Metric) => {
    const [a, b] = rows.map((row) => positionOf(row[metric]));
    if (a == null || b == null) return [];
    const unit = unitFor(METRIC[metric].dimension, [toBase(metric, a)]);
    const show = (row: Row, value: number) => {
      const quantity = row[metric];
      if (!isEstimate(quantity)) return withUnit(toBase(metric, value), unit);
      const [point, low, high] = [quantity.point, quantity.low, quantity.high].map((end) => toBase(metric, end)) as [number, number, number];
      return intervalWithUnit({ point, low, high }, unit);
    };
    return [[metricName(metric), show(rows[0], a), show(rows[1], b), b > 0 ? ratio(a / b) : "–"]];
  });
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="The numbers of both">
      <table class="plain">
        <Heads of={["Metric", names[0], names[1], `${names[0]} ÷ ${names[1]}`]} />
        <tbody>
          {told.map(([metric, ...cells]) => (
            <tr key={metric}>
              <th scope="row">{metric}</th>
              {cells.map((cell, index) => (
                <td key={index}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Duel(props: { group: Group; services: Services; confidence: number; pair: [string, string]; change: (pair: [string, string]) => void }) {
  const { group, services, pair, change } = props;
  const able = group.services.filter((row) => row.excluded === null);
  const find = (id: string, not: string) => able.find((row) => idOf(row) === id) ?? able.find((row) => idOf(row) !== not);
  const first = able.find((row) => idOf(row) === pair[0]) ?? able.find((row) => idOf(row) !== pair[1]);
  const second = first && find(pair[1] === idOf(first) ? "" : pair[1], idOf(first));
  const chart = useMemo(
    () => (first && second ? overEachOther([first, second], [services.name(idOf(first)), services.name(idOf(second))]) : null),
    [first, second, services],
  );
  if (!first || !second) return null;
  const [a, b] = [idOf(first), idOf(second)];
  const names: [string, string] = [services.name(a), services.name(b)];
  const side = comparisonsOf(group).of(a, b);
  const metric = metricName(group.ranked_by).toLowerCase();
  return (
    <section aria-labelledby="duel">
      <h2 id="duel">Two side by side</h2>
      <div class="picks">
        <Choice label="First" rows={able} value={a} services={services} choose={(id) => change([id, id === b ? a : b])} />
        <Choice label="Second" rows={able} value={b} services={services} choose={(id) => change([id === a ? b : a, id])} />
      </div>
      <div class="duel" role="status">
        {side ? (
          <>
            <p>
              The {metric} of {names[0]} is{" "}
              <b>
                {ratio(side.low)}–{ratio(side.high)} ×
              </b>{" "}
              that of {names[1]}, most likely {ratio(side.point)} ×: {names[0]} {SAID[side.verdict]}.
            </p>
            <Line side={side} />
            <p class="quiet">
              The line is at 1. This interval and those of all other pairs of this ranking hold together with {percent(props.confidence)} confidence.
            </p>
          </>
        ) : (
          <p>There is no interval for the ratio of these two: it takes two services with a rank.</p>
        )}
      </div>
      <Numbers rows={[first, second]} names={names} />
      <p class="quiet">The last column is the ratio of the two values, without an interval.</p>
      {chart && <Figure chart={chart} wide />}
    </section>
  );
}
