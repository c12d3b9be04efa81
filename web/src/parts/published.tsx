// Published results of others, next to ours.

import { useMemo } from "preact/hooks";
import { published } from "../charts/across.ts";
import { idOf, type Group, type Metric, type Report, type Services } from "../data.ts";
import { humanize } from "../format.ts";
import { METRIC, toBaseUnit } from "../metrics.ts";
import { ScrollTable } from "./elements.tsx";
import { Figure } from "./figure.tsx";

function agreementText(correlation: number): string {
  const size = Math.abs(correlation);
  const word = size >= 0.9 ? "nearly the same order" : size >= 0.7 ? "a similar order" : size >= 0.4 ? "a loosely similar order" : "no common order";
  return correlation < -0.4 ? "nearly the reverse order" : word;
}

export function Published(props: { report: Report; group: Group | undefined; services: Services }) {
  const { report, group, services } = props;
  const references = useMemo(
    () => report.reference.filter((reference) => reference.contract === group?.contract && reference.workload === group.workload && reference.load_text === group.load_text),
    [report.reference, group],
  );
  const metrics = useMemo(() => {
    const available = new Set(references.flatMap((reference) => reference.figures.map((figure) => figure.metric)));
    return (Object.keys(METRIC) as Metric[]).filter((metric) => available.has(metric));
  }, [references]);
  const chart = useMemo(() => {
    const pairs = references.flatMap((reference) => {
      const figure = reference.figures.find((figure) => figure.metric === "throughput_per_s");
      const comparable = figure?.ours != null && reference.service !== null;
      return comparable ? [{ name: services.name(idOf({ service: reference.service!, variant: reference.variant })), theirs: figure.published, ours: figure.ours!, source: reference.source }] : [];
    });
    return pairs.length > 1 ? published(pairs) : null;
  }, [references, services]);
  if (!group || references.length === 0) return null;
  const agreement = report.agreement.filter(
    (entry) => entry.contract === group.contract && entry.workload === group.workload && entry.load_text === group.load_text,
  );
  return (
    <section aria-labelledby="published">
      <h2 id="published">Published figures next to ours</h2>
      {agreement.map((entry) => (
        <p key={entry.source}>
          {entry.rank_correlation === null
            ? `${entry.source}: too few services in common for a rank correlation.`
            : `${entry.source}: ${agreementText(entry.rank_correlation)} over ${entry.services} services in common (Spearman’s rank correlation ${entry.rank_correlation.toFixed(2)}).`}
        </p>
      ))}
      <div class="chart-grid">
        {chart && <Figure chart={chart} />}
        <ScrollTable label="Published figures" columns={["Service", "Source", ...metrics.map((metric) => `${METRIC[metric].title}: published / here`)]}>
          {references.map((reference, index) => (
            <tr key={index}>
              <th scope="row">
                {reference.name}
                {reference.service === null && <small class="note">not measured here</small>}
                {reference.notes.length > 0 && <small class="note">{reference.notes.join("; ")}</small>}
              </th>
              <td>{reference.source}</td>
              {metrics.map((metric) => {
                const figure = reference.figures.find((figure) => figure.metric === metric);
                const show = (value: number | null) => (value === null ? "–" : humanize(toBaseUnit(metric, value), METRIC[metric].dimension));
                return (
                  <td key={metric} class="nowrap">
                    {figure ? `${show(figure.published)} / ${show(figure.ours)}` : "–"}
                  </td>
                );
              })}
            </tr>
          ))}
        </ScrollTable>
      </div>
    </section>
  );
}
