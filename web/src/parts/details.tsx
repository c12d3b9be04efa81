// What is behind a row: all estimates, what became of the requests, each trial, the log of a failure.

import { idOf, isEstimate, METRICS, positionOf, type Metric, type Row, type Services } from "../data.ts";
import { human, percent, plural, withUnit, unitFor, words } from "../format.ts";
import { METRIC, metricName, toBase } from "../metrics.ts";
import { Heads } from "./heads.tsx";
import { Warnings } from "./masthead.tsx";

function line(row: Row, metric: Metric): [string, string] | null {
  const quantity = row[metric];
  const position = positionOf(quantity);
  if (quantity == null || position === null) return null;
  const { dimension } = METRIC[metric];
  const unit = unitFor(dimension, [toBase(metric, position)]);
  const show = (value: number) => withUnit(toBase(metric, value), unit);
  const name = metricName(metric);
  if (!isEstimate(quantity)) return [name, `${show(position)} (one trial, no interval)`];
  return [name, `${show(quantity.point)} (${show(quantity.low)} to ${show(quantity.high)})`];
}

function Facts(props: { facts: [string, string][] }) {
  return (
    <dl class="pairs-list">
      {props.facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function aboutService(row: Row, services: Services): [string, string][] {
  const info = services.info(idOf(row));
  const facts: [string, string][] = [["Service", idOf(row)]];
  if (info) facts.push(["Framework", [info.framework, info.version].filter(Boolean).join(" ")]);
  if (info?.workers) facts.push(["CPUs used through", info.workers]);
  if (info?.image) facts.push(["Container image", info.image]);
  if (info?.note) facts.push(["Note", info.note]);
  if (row.details && row.details.service_cpus.length > 0)
    facts.push(["CPUs", `service on ${row.details.service_cpus.join(", ")}; generator on ${row.details.generator_cpus.join(", ")}`]);
  facts.push(["Trials", plural(row.trials, "trial") + (row.failed_trials ? `, ${row.failed_trials} more gave nothing` : "")]);
  if (row.bytes_per_reply !== null) facts.push(["Bytes per reply", human(row.bytes_per_reply, "bytes")]);
  return facts;
}

function outcomes(row: Row): [string, string][] {
  const all = Object.entries(row.details?.outcomes ?? {});
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  return all
    .filter(([name, count]) => count > 0 || name === "valid")
    .map(([name, count]) => [`Requests ${words(name)}`, `${human(count, "count")} (${percent(total ? count / total : 0)})`]);
}

export function RowDetails(props: { row: Row; services: Services }) {
  const { row, services } = props;
  const estimates = METRICS.flatMap((metric) => {
    const found = line(row, metric);
    return found ? [found] : [];
  });
  return (
    <div class="details">
      <Warnings warnings={row.warnings} />
      <div class="detail-columns">
        <Facts facts={[...aboutService(row, services), ...(row.details ? outcomes(row) : [])]} />
        {estimates.length > 0 && <Facts facts={estimates} />}
      </div>
      {row.details && row.details.points.length > 0 && <Trials row={row} />}
      <Workers row={row} />
      {row.excluded?.log_tail && row.excluded.log_tail.length > 0 && (
        <figure class="log">
          <figcaption>Last lines of its log</figcaption>
          <pre tabIndex={0}>{row.excluded.log_tail.join("\n")}</pre>
        </figure>
      )}
    </div>
  );
}

/** What each worker did, where several hosts made the load. */
function Workers(props: { row: Row }) {
  const trials = props.row.details?.points.filter((point) => (point.workers?.length ?? 0) > 0) ?? [];
  if (trials.length === 0) return null;
  const time = (ns: number | null | undefined) => (ns == null ? "–" : human(ns, "time"));
  return (
    <table class="plain">
      <caption>Each worker</caption>
      <Heads of={["Round", "Worker", "Throughput", "p50", "p99", "Sent late, p99", "CPU"]} />
      <tbody>
        {trials.flatMap((point, index) =>
          point.workers!.map((worker) => (
            <tr key={`${index} ${worker.name}`}>
              <th scope="row">{point.round + 1}</th>
              <td>{worker.name}</td>
              <td>{human(worker.throughput_per_s, "rate")}</td>
              <td>{time(worker.response_time_ns_p50)}</td>
              <td>{time(worker.response_time_ns_p99)}</td>
              <td>{time(worker.own_lag_ns_p99)}</td>
              <td>{human(worker.cpu_s * 1e9, "time")}</td>
            </tr>
          )),
        )}
      </tbody>
    </table>
  );
}

function Trials(props: { row: Row }) {
  const show = (value: number | null, of: "rate" | "time" | "bytes") => (value === null ? "–" : human(value, of));
  return (
    <table class="plain">
      <caption>Each trial</caption>
      <Heads of={["Round", "Throughput", "p99", "CPU / request", "Memory, peak"]} />
      <tbody>
        {props.row.details?.points.map((point, index) => (
          <tr key={index}>
            <th scope="row">{point.round + 1}</th>
            {point.excluded === null ? (
              <>
                <td>{show(point.throughput_per_s, "rate")}</td>
                <td>{show(point.response_time_ns_p99, "time")}</td>
                <td>{show(point.cpu_ns_per_request, "time")}</td>
                <td>{show(point.memory_bytes_peak, "bytes")}</td>
              </>
            ) : (
              <td colSpan={4}>gave nothing: {point.excluded}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
