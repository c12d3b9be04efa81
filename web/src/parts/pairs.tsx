// Every two services side by side: "A is 1.32–1.41 × B".

import { useState } from "preact/hooks";
import { idOf, type Group, type Pair, type Row, type Services, type Verdict } from "../data.ts";
import { percent, ratio } from "../format.ts";
import { metricName } from "../metrics.ts";

/** An interval whose ends are this many times apart says nothing. */
const VAGUE = 4;

/** More columns than this are asked for with a button. */
const AT_FIRST = 10;

interface Side {
  low: number;
  high: number;
  verdict: Verdict;
}

const reversed: Record<Verdict, Verdict> = { faster: "slower", slower: "faster", same: "same", cannot_tell: "cannot_tell" };
const said: Record<Verdict, string> = { faster: "better", slower: "worse", same: "the same", cannot_tell: "tie" };

function sides(pairs: Pair[]): Map<string, Side> {
  const found = new Map<string, Side>();
  for (const { a, b, ratio: r, verdict } of pairs) {
    found.set(`${a}\n${b}`, { low: r.low, high: r.high, verdict });
    found.set(`${b}\n${a}`, { low: 1 / r.high, high: 1 / r.low, verdict: reversed[verdict] });
  }
  return found;
}

export function Pairs(props: { group: Group; rows: Row[]; services: Services; confidence: number }) {
  const { group, services } = props;
  const [all, setAll] = useState(false);
  if (group.pairs.length === 0) return null;
  const known = sides(group.pairs);
  const shown = new Set(props.rows.map(idOf));
  const ranked = group.services.filter((row) => row.rank !== null && shown.has(idOf(row))).map(idOf);
  if (ranked.length < 2) return null;
  const ids = all ? ranked : ranked.slice(0, AT_FIRST);
  const metric = metricName(group.ranked_by).toLowerCase();
  return (
    <section aria-labelledby="pairs">
      <h2 id="pairs">Pair by pair</h2>
      <p class="quiet">
        Read a row: its {metric} is so many times that of the column. All intervals hold together with {percent(props.confidence)}{" "}
        confidence; where an interval holds 1, the data does not tell which is better (? where it is so wide that it says nothing).
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
                  const side = known.get(`${row}\n${column}`);
                  if (!side) return <td key={column} class="self" />;
                  const range = `${ratio(side.low)}–${ratio(side.high)}`;
                  // An interval this wide is no number to read.
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
          {all ? `Only the first ${AT_FIRST}` : `All ${ranked.length}`}
        </button>
      )}
    </section>
  );
}
