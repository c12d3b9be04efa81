// Every two services side by side: "A is 1.32–1.41 × B".

import { useState } from "preact/hooks";
import { comparisonsOf } from "../comparisons.ts";
import { idOf, type Group, type Row, type Services, type Verdict } from "../data.ts";
import { percent, ratio } from "../format.ts";
import { metricName } from "../metrics.ts";

/** An interval whose ends differ by this factor is meaningless. */
const VAGUE = 4;

/** Services that the table shows initially, and at most: 400 would make 160,000 cells. */
const AT_FIRST = 10;
const AT_MOST = 40;

const said: Record<Verdict, string> = { faster: "better", slower: "worse", same: "the same", cannot_tell: "tie" };

export function Pairs(props: { group: Group; rows: Row[]; services: Services; confidence: number }) {
  const { group, services } = props;
  const [all, setAll] = useState(false);
  const known = comparisonsOf(group);
  if (!known.some) return null;
  const shown = new Set(props.rows.map(idOf));
  const ranked = group.services.filter((row) => row.rank !== null && shown.has(idOf(row))).map(idOf);
  if (ranked.length < 2) return null;
  const ids = ranked.slice(0, all ? AT_MOST : AT_FIRST);
  const metric = metricName(group.ranked_by).toLowerCase();
  return (
    <section aria-labelledby="pairs">
      <h2 id="pairs">Pair by pair</h2>
      <p class="quiet">
        Each cell is the {metric} of the row divided by that of the column. All intervals hold together with {percent(props.confidence)}{" "}
        confidence; if an interval contains 1, the data does not show which is better (? if it is too wide to be useful).
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Ratios of all pairs">
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
                  const side = known.of(row, column);
                  if (!side) return <td key={column} class="self" />;
                  const range = `${ratio(side.low)}–${ratio(side.high)}`;
                  // An interval this wide is not worth showing.
                  const vague = side.verdict === "cannot_tell" && side.high > VAGUE * side.low;
                  return (
                    <td key={column} class={side.verdict} title={`${services.name(row)} is ${range} × ${services.name(column)}: ${said[side.verdict]}`}>
                      {vague ? "?" : range}
                      <small>{said[side.verdict]}</small>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {ranked.length > AT_FIRST && (
        <button type="button" class="plain-button" onClick={() => setAll(!all)}>
          {all ? `Only the first ${AT_FIRST}` : ranked.length > AT_MOST ? `The first ${AT_MOST}` : `All ${ranked.length}`}
        </button>
      )}
      {ranked.length > AT_MOST && <p class="quiet">The table shows only the first {AT_MOST} of {ranked.length} services. Filter the ranking, or pick any two below.</p>}
    </section>
  );
}
