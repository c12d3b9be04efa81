// All charts of a group, for the services that the table shows, in the order of the table.

import { useMemo } from "preact/hooks";
import { radar } from "../charts/across.ts";
import { bars } from "../charts/bars.ts";
import { cost } from "../charts/cost.ts";
import { heatMap } from "../charts/heat.ts";
import { density, percentiles } from "../charts/latency.ts";
import { capacity, levels } from "../charts/levels.ts";
import { interleaved, ratios } from "../charts/interleaved.ts";
import { overTime } from "../charts/series.ts";
import { idOf, type Group, type Metric, type Report, type Row, type Services } from "../data.ts";
import { metricName } from "../metrics.ts";
import { MAX_LINES } from "../theme.ts";
import { ServiceSelect } from "./elements.tsx";
import { Figure } from "./figure.tsx";

const BAR_METRICS: Metric[] = [
  "goodput_per_s",
  "throughput_per_s",
  "sequences_per_s",
  "messages_per_s",
  "first_message_ns_p50",
  "response_time_ns_p50",
  "response_time_ns_p75",
  "response_time_ns_p95",
  "response_time_ns_p99",
  "response_time_ns_p99_9",
  "response_time_ns_max",
  "cpu_ns_per_request",
  "cpus_busy",
  "memory_bytes_peak",
  "start_ms",
  "start_cpu_ns",
  "steady_rate_s",
  "memory_bytes_idle",
  "memory_bytes_first_reply",
  "memory_bytes_after_load",
  "artefact_bytes_used",
  "artefact_bytes",
];

interface Props {
  report: Report;
  group: Group;
  rows: Row[];
  services: Services;
  /** The metric that the bars show; null for the ranking metric. */
  metric: Metric | null;
  choose: (metric: Metric | null) => void;
  /** The service that is shown over time; empty for the first one. */
  time: string;
  chooseTime: (id: string) => void;
}

function Bars(props: Props) {
  const { group, rows, services, metric: selected, choose } = props;
  const metric = selected !== null && rows.some((row) => row[selected] != null) ? selected : group.ranked_by;
  const chart = useMemo(() => bars(group, rows, metric, services), [group, rows, metric, services]);
  if (!chart) return null;
  return (
    <Figure chart={chart} wide>
      <label class="field inline">
        <span>Metric</span>
        <select value={metric} onChange={(event) => choose(event.currentTarget.value === group.ranked_by ? null : (event.currentTarget.value as Metric))}>
          {BAR_METRICS.filter((one) => rows.some((row) => row[one] != null)).map((one) => (
            <option key={one} value={one}>
              {metricName(one)}
            </option>
          ))}
        </select>
      </label>
    </Figure>
  );
}

function OverTime(props: Props) {
  const { rows, services, time, chooseTime } = props;
  const rowsWithSeries = rows.filter((row) => row.details?.series);
  const row = rowsWithSeries.find((one) => idOf(one) === time) ?? rowsWithSeries[0];
  const heat = useMemo(() => (row ? heatMap(row, services.name(idOf(row))) : null), [row, services]);
  const chart = useMemo(() => (row ? overTime(row, services.name(idOf(row))) : null), [row, services]);
  if (!chart || !row) return null;
  return (
    <>
      <Figure chart={chart} wide>
        <ServiceSelect label="Service" class="field inline" rows={rowsWithSeries} value={idOf(row)} services={services} choose={chooseTime} />
      </Figure>
      {heat && <Figure chart={heat} wide />}
    </>
  );
}

export function Charts(props: Props) {
  const { report, group, services } = props;
  const rows = useMemo(() => props.rows.filter((row) => row.excluded === null), [props.rows]);
  const charts = useMemo(
    () => ({
      percentiles: percentiles(rows, services),
      density: density(rows, services),
      capacity: capacity(report.groups, group, rows, services),
      levels: [...new Set<Metric>([group.ranked_by, "response_time_ns_p99"])].flatMap((metric) => levels(report.groups, group, rows, services, metric) ?? []),
      cost: cost(rows, services),
      radar: radar(report.groups, group, rows, services),
      interleaved: interleaved(rows, services, report.environment.cpu.online),
      ratios: rows.some((row) => row.details?.interleaved?.length) ? ratios(group, rows, services) : null,
    }),
    [report, group, rows, services],
  );
  const inner = { ...props, rows };
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="charts">
      <h2 id="charts">Charts</h2>
      {rows.length > MAX_LINES && (
        <p class="quiet">
          Charts with lines show the first {MAX_LINES} services of the table: sort or filter it to see others.
        </p>
      )}
      <div class="chart-grid">
        <Bars {...inner} />
        {charts.ratios && <Figure chart={charts.ratios} wide />}
        {charts.interleaved && <Figure chart={charts.interleaved} wide />}
        {charts.levels.map((chart) => (
          <Figure key={chart.id} chart={chart} />
        ))}
        {charts.percentiles && <Figure chart={charts.percentiles} />}
        {charts.density && <Figure chart={charts.density} />}
        {charts.capacity && <Figure chart={charts.capacity} wide />}
        {charts.cost && <Figure chart={charts.cost} wide={!charts.radar} />}
        {charts.radar && <Figure chart={charts.radar} />}
        <OverTime {...inner} />
      </div>
    </section>
  );
}
