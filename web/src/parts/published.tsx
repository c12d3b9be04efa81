// Published results of others, next to ours.

import { useMemo } from "preact/hooks";
import { published } from "../charts/across.ts";
import { idOf, type Group, type Metric, type Report, type Services } from "../data.ts";
import { human } from "../format.ts";
import { METRIC, toBase } from "../metrics.ts";
import { ScrollTable } from "./elements.tsx";
import { Figure } from "./figure.tsx";

function strength(correlation: number): string {
  const size = Math.abs(correlation);
  const word = size >= 0.9 ? "nearly the same order" : size >= 0.7 ? "a similar order" : size >= 0.4 ? "a loosely similar order" : "no common order";
  return correlation < -0.4 ? "nearly the reverse order" : word;
}

export function Published(props: { report: Report; group: Group | undefined; services: Services }) {
  const { report, group, services } = props;
  const beside = useMemo(
    () => report.reference.filter((one) => one.contract === group?.contract && one.workload === group.workload && one.load_text === group.load_text),
    [report.reference, group],
  );
  const metrics = useMemo(() => {
    const given = new Set(beside.flatMap((one) => one.figures.map((figure) => figure.metric)));
    return (Object.keys(METRIC) as Metric[]).filter((metric) => given.has(metric));
  }, [beside]);
  const chart = useMemo(() => {
    const pairs = beside.flatMap((one) => {
      const figure = one.figures.find((figure) => figure.metric === "throughput_per_s");
      const known = figure?.ours != null && one.service !== null;
      return known ? [{ name: services.name(idOf({ service: one.service!, variant: one.variant })), theirs: figure.published, ours: figure.ours!, source: one.source }] : [];
    });
    return pairs.length > 1 ? published(pairs) : null;
  }, [beside, services]);
  if (!group || beside.length === 0) return null;
  const agreement = report.agreement.filter(
    (one) => one.contract === group.contract && one.workload === group.workload && one.load_text === group.load_text,
  );
  return (
    <section aria-labelledby="published">
      <h2 id="published">Published figures next to ours</h2>
      {agreement.map((one) => (
        <p key={one.source}>
          {one.rank_correlation === null
            ? `${one.source}: too few services in common for a rank correlation.`
            : `${one.source}: ${strength(one.rank_correlation)} over ${one.services} services in common (Spearman’s rank correlation ${one.rank_correlation.toFixed(2)}).`}
        </p>
      ))}
      <div class="chart-grid">
        {chart && <Figure chart={chart} />}
        <ScrollTable label="Published figures" columns={["Service", "Source", ...metrics.map((metric) => `${METRIC[metric].title}: published / here`)]}>
          {beside.map((one, index) => (
            <tr key={index}>
              <th scope="row">
                {one.name}
                {one.service === null && <small class="note">not measured here</small>}
                {one.notes.length > 0 && <small class="note">{one.notes.join("; ")}</small>}
              </th>
              <td>{one.source}</td>
              {metrics.map((metric) => {
                const figure = one.figures.find((figure) => figure.metric === metric);
                const show = (value: number | null) => (value === null ? "–" : human(toBase(metric, value), METRIC[metric].dimension));
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
