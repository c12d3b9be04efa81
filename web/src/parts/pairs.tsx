// Services compared with each other: all pairs ("A is 1.32–1.41 × B"), and two that the reader picks.

import { useMemo, useState } from "preact/hooks";
import { overTimeOfTwo } from "../charts/series.ts";
import { comparisonsOf, type PairRatio } from "../comparisons.ts";
import { hasNoBound, idOf, isEstimate, isLowerBound, METRICS, noBound, positionOf, type Group, type Metric, type Row, type Services, type Verdict } from "../data.ts";
import { inUnit, percent, ratio, shownInterval, unitFor } from "../format.ts";
import { METRIC, metricName, toBaseUnit } from "../metrics.ts";
import { Scroll, ScrollTable, ServiceSelect } from "./elements.tsx";
import { Figure } from "./figure.tsx";

/** An inconclusive interval whose ends differ by more than this factor is not worth showing. */
const MAX_SPREAD = 4;

/** Services that the table shows initially, and at most: 400 would make 160,000 cells. */
const INITIAL_SERVICES = 10;
const MAX_SERVICES = 40;

/** The verdict on a pair in a few words. */
const verdictText = (group: Group, verdict: Verdict): string =>
  ({ faster: "better", slower: "worse", same: equalWithin(group), cannot_tell: "inconclusive" })[verdict];

const equalWithin = ({ tie_band }: Group): string => `equal within ${percent(tie_band).replace(".0 ", " ")}`;

export function Pairs(props: { group: Group; rows: Row[]; services: Services; confidence: number }) {
  const { group, services } = props;
  const [all, setAll] = useState(false);
  const comparisons = comparisonsOf(group);
  if (!comparisons.hasPairs) return null;
  const shown = new Set(props.rows.map(idOf));
  const ranked = group.services.filter((row) => row.rank !== null && shown.has(idOf(row))).map(idOf);
  if (ranked.length < 2) return null;
  const ids = ranked.slice(0, all ? MAX_SERVICES : INITIAL_SERVICES);
  const metric = metricName(group.ranked_by).toLowerCase();
  return (
    <section aria-labelledby="pairs">
      <h2 id="pairs">Pair by pair</h2>
      <p class="quiet">
        Each cell is the {metric} of the row divided by that of the column. All intervals hold together with {percent(props.confidence)}{" "}
        confidence. Inconclusive: the interval includes 1, so the data does not show which is better; a very wide one is left out.
      </p>
      <Scroll label="Ratios of all pairs">
        <table class="matrix">
          <thead>
            <tr>
              <td />
              {ids.map((id) => (
                <th key={id} scope="col">
                  <span>{services.name(id)}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ids.map((row) => (
              <tr key={row}>
                <th scope="row">{services.name(row)}</th>
                {ids.map((column) => {
                  const pairRatio = comparisons.ratio(row, column);
                  if (!pairRatio) return <td key={column} class="self" />;
                  const range = `${ratio(pairRatio.low)}–${ratio(pairRatio.high)}`;
                  const word = verdictText(group, pairRatio.verdict);
                  const vague = pairRatio.verdict === "cannot_tell" && pairRatio.high > MAX_SPREAD * pairRatio.low;
                  return (
                    <td key={column} class={pairRatio.verdict} title={`${services.name(row)} is ${range} × ${services.name(column)}: ${word}`}>
                      {!vague && range}
                      <small>{word}</small>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {ranked.length > INITIAL_SERVICES && (
        <button type="button" class="plain-button" onClick={() => setAll(!all)}>
          {all ? `Only the first ${INITIAL_SERVICES}` : ranked.length > MAX_SERVICES ? `The first ${MAX_SERVICES}` : `All ${ranked.length}`}
        </button>
      )}
      {ranked.length > MAX_SERVICES && <p class="quiet">The table shows only the first {MAX_SERVICES} of {ranked.length} services. Filter the ranking, or pick any two below.</p>}
    </section>
  );
}

/** The verdict on two services, as the end of a sentence. */
const verdictSentence = (group: Group, name: string, verdict: Verdict): string =>
  ({
    faster: `${name} is better`,
    slower: `${name} is worse`,
    same: `they are ${equalWithin(group)}`,
    cannot_tell: "inconclusive, because the interval includes 1",
  })[verdict];

/** The ratio on a logarithmic line with 1 in the middle. */
function RatioLine(props: { pairRatio: PairRatio }) {
  const { point, low, high } = props.pairRatio;
  const range = 1.1 * Math.max(0.05, ...[low, high].map((end) => Math.abs(Math.log(end))));
  const at = (value: number) => Math.round(500 * (1 + Math.max(-1, Math.min(1, Math.log(value) / range))));
  return (
    <svg class="ratio-line" viewBox="0 0 1000 30" preserveAspectRatio="none" aria-hidden="true">
      <path class="ground" d="M0 15H1000" />
      <path class="one" d="M500 0V30" />
      <path class="interval" d={`M${at(low)} 15H${Math.max(at(high), at(low) + 8)}`} />
      <path class="dots" d={`M${at(point)} 15h0`} />
    </svg>
  );
}

/** Rates that equal goodput if all replies were valid, and are then left out. */
const SAME_RATES: Metric[] = ["throughput_per_s", "offered_per_s"];

function NumbersTable(props: { rows: [Row, Row]; names: [string, string] }) {
  const { rows, names } = props;
  const repeats = (metric: Metric) => SAME_RATES.includes(metric) && rows.every((row) => positionOf(row[metric]) === positionOf(row.goodput_per_s));
  const lines = METRICS.filter((metric) => !repeats(metric)).flatMap((metric: Metric) => {
    if (rows.every((row) => row[metric] == null)) return [];
    const [a = null, b = null] = rows.map((row) => positionOf(row[metric]));
    // The unit of the smaller value: that of the larger one would cost it its digits.
    const known = [a, b].filter((value) => value !== null).map((value) => toBaseUnit(metric, value));
    const unit = unitFor(METRIC[metric].dimension, [Math.min(...known)]);
    const show = (row: Row) => {
      const quantity = row[metric];
      const position = positionOf(quantity);
      if (hasNoBound(quantity)) return noBound(quantity);
      if (position === null) return "not known";
      const { value, half } = isEstimate(quantity)
        ? shownInterval(quantity, (number) => inUnit(toBaseUnit(metric, number), unit))
        : { value: inUnit(toBaseUnit(metric, position), unit), half: "" };
      return `${isLowerBound(row, metric) ? "≥ " : ""}${value} ${half}`.trim();
    };
    const name = [metricName(metric), known.length > 0 && unit.symbol].filter(Boolean).join(", ");
    return [[name, a !== null && b !== null && b > 0 ? `${ratio(a / b)} ×` : "–", show(rows[0]), show(rows[1])]];
  });
  return (
    <ScrollTable label="The numbers of both" columns={["Metric", "Ratio", names[0], names[1]]}>
      {lines.map(([metric, ...cells]) => (
        <tr key={metric}>
          <th scope="row">{metric}</th>
          {cells.map((cell, index) => (
            <td key={index}>{cell}</td>
          ))}
        </tr>
      ))}
    </ScrollTable>
  );
}

/** Two services: their ratio with its interval, their numbers, and both over time. */
export function SideBySide(props: { group: Group; services: Services; confidence: number; pair: [string, string]; change: (pair: [string, string]) => void }) {
  const { group, services, pair, change } = props;
  const measured = group.services.filter((row) => row.excluded === null);
  const find = (id: string, not: string) => measured.find((row) => idOf(row) === id) ?? measured.find((row) => idOf(row) !== not);
  const first = measured.find((row) => idOf(row) === pair[0]) ?? measured.find((row) => idOf(row) !== pair[1]);
  const second = first && find(pair[1] === idOf(first) ? "" : pair[1], idOf(first));
  const chart = useMemo(
    () => (first && second ? overTimeOfTwo([first, second], [services.name(idOf(first)), services.name(idOf(second))]) : null),
    [first, second, services],
  );
  if (!first || !second) return null;
  const [a, b] = [idOf(first), idOf(second)];
  const names: [string, string] = [services.name(a), services.name(b)];
  const pairRatio = comparisonsOf(group).ratio(a, b);
  const metric = metricName(group.ranked_by).toLowerCase();
  return (
    <section aria-labelledby="duel">
      <h2 id="duel">Two side by side</h2>
      <div class="picks">
        <ServiceSelect label="First" rows={measured} value={a} services={services} choose={(id) => change([id, id === b ? a : b])} />
        <ServiceSelect label="Second" rows={measured} value={b} services={services} choose={(id) => change([id === a ? b : a, id])} />
      </div>
      <div class="duel" role="status">
        {pairRatio ? (
          <>
            <p>
              The {metric} of {names[0]} is{" "}
              <b>
                {ratio(pairRatio.low)}–{ratio(pairRatio.high)} ×
              </b>{" "}
              that of {names[1]}, most likely {ratio(pairRatio.point)} ×: {verdictSentence(group, names[0], pairRatio.verdict)}.
            </p>
            <RatioLine pairRatio={pairRatio} />
            <p class="quiet">
              The line is at 1. This interval and those of all other pairs of this ranking hold together with {percent(props.confidence)} confidence.
            </p>
          </>
        ) : (
          <p>There is no interval for the ratio of these two: it takes two services with a rank, and neither may be a lower bound.</p>
        )}
      </div>
      <NumbersTable rows={[first, second]} names={names} />
      <p class="quiet">The ratio of the two values has no interval.</p>
      {chart && <Figure chart={chart} wide />}
    </section>
  );
}
