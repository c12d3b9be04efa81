// What others published, beside ours.

import { useMemo } from "preact/hooks";
import { published } from "../charts/across.ts";
import { idOf, positionOf, type Group, type ReferenceRow, type Report, type Services } from "../data.ts";
import { human } from "../format.ts";
import { Heads } from "./heads.tsx";
import { Figure } from "./figure.tsx";

/** The row that a published figure is about: of its variant, or the best of the service where the source names none. */
function ours(group: Group, reference: ReferenceRow) {
  const rows = group.services.filter(
    (row) => row.service === reference.service && (reference.variant === null || row.variant === reference.variant),
  );
  return rows.find((row) => positionOf(row.throughput_per_s) !== null) ?? rows[0];
}

function strength(correlation: number): string {
  const size = Math.abs(correlation);
  const word = size >= 0.9 ? "nearly the same order" : size >= 0.7 ? "a similar order" : size >= 0.4 ? "a loosely similar order" : "no common order";
  return correlation < -0.4 ? "nearly the reverse order" : word;
}

export function Published(props: { report: Report; group: Group | undefined; services: Services }) {
  const { report, group, services } = props;
  const beside = useMemo(
    () =>
      report.reference
        .filter((one) => one.contract === group?.contract && one.workload === group.workload)
        .map((one) => {
          const row = group && ours(group, one);
          return { ...one, row, ours: positionOf(row?.throughput_per_s) };
        }),
    [report.reference, group],
  );
  const chart = useMemo(
    () =>
      published(
        beside.flatMap((one) =>
          one.ours === null || !one.row ? [] : [{ name: services.name(idOf(one.row)), theirs: one.throughput_per_s, ours: one.ours, source: one.source }],
        ),
      ),
    [beside, services],
  );
  const compared = beside.filter((one) => one.ours !== null).length;
  if (!group || beside.length === 0) return null;
  const agreement = report.agreement.filter(
    (one) => one.contract === group.contract && one.workload === group.workload && one.load_text === group.load_text,
  );
  return (
    <section aria-labelledby="published">
      <h2 id="published">Published figures beside ours</h2>
      {agreement.map((one) => (
        <p key={one.source}>
          {one.rank_correlation === null
            ? `${one.source}: too few services in common for a rank correlation.`
            : `${one.source}: ${strength(one.rank_correlation)} over ${one.services} services in common (Spearman’s rank correlation ${one.rank_correlation.toFixed(2)}).`}
        </p>
      ))}
      <div class="chart-grid">
        {chart && compared > 1 && <Figure chart={chart} />}
        <div class="scroll" tabIndex={0} role="region" aria-label="Published figures">
          <table class="plain">
            <Heads of={["Service", "Source", "Published, /s", "Here, /s"]} />
            <tbody>
              {beside.map((one, index) => (
                <tr key={index}>
                  <th scope="row">
                    {one.name}
                    {one.notes.length > 0 && <small class="note">{one.notes.join("; ")}</small>}
                  </th>
                  <td>{one.source}</td>
                  <td>{human(one.throughput_per_s, "count")}</td>
                  <td class="nowrap">{one.ours === null ? "not measured" : human(one.ours, "count")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
    </section>
  );
}
