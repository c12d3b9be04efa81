// The details of a row: all estimates, the outcomes of the requests, each trial, the log of a failure.

import type { ComponentChildren } from "preact";
import { comparisonsOf } from "../comparisons.ts";
import { hasNoBound, idOf, isEstimate, METRICS, noBound, positionOf, type Group, type Metric, type Row, type Services } from "../data.ts";
import { warningsOf } from "../warnings.ts";
import { human, percent, plural, whole, withUnit, unitFor, words } from "../format.ts";
import { METRIC, metricName, toBase } from "../metrics.ts";
import { BackingProcesses } from "./backing-services.tsx";
import { Heads } from "./heads.tsx";
import { Warnings } from "./masthead.tsx";
import { Source, type Repository } from "./source.tsx";
import { Streams } from "./streams.tsx";

type Fact = [string, ComponentChildren];

function line(group: Group, row: Row, metric: Metric): Fact | null {
  const quantity = row[metric];
  const position = positionOf(quantity);
  if (hasNoBound(quantity)) return [metricName(metric), noBound(quantity)];
  if (quantity == null || position === null) return null;
  const { dimension } = METRIC[metric];
  const unit = unitFor(dimension, [toBase(metric, position)]);
  const show = (value: number) => withUnit(toBase(metric, value), unit);
  const name = metricName(metric);
  const doubt = warningsOf(group, row, metric).length > 0 ? " ⚠ in doubt" : "";
  if (!isEstimate(quantity)) return [name, `${show(position)} (one trial, no interval)${doubt}`];
  return [name, `${show(quantity.point)} (${show(quantity.low)} to ${show(quantity.high)})${doubt}`];
}

function Facts(props: { facts: Fact[] }) {
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

/** Maximum number of ties that are listed. */
const MOST_TIES = 12;

function rankOf(group: Group, row: Row, services: Services): Fact[] {
  if (row.rank === null) return row.generator_bound ? [["Rank", "none: the generator was the limit, so its rates are lower bounds"]] : [];
  const alone = row.rank_low === row.rank_high;
  const facts: Fact[] = [["Rank", alone ? String(row.rank_low) : `between ${row.rank_low} and ${row.rank_high}`]];
  const ties = comparisonsOf(group).tiedWith(idOf(row)).map((id) => services.name(id));
  if (ties.length > 0) facts.push(["Statistically tied with", ties.slice(0, MOST_TIES).join(", ") + (ties.length > MOST_TIES ? ` and ${ties.length - MOST_TIES} others` : "")]);
  return facts;
}

function aboutService(group: Group, row: Row, services: Services, repository: Repository): Fact[] {
  const info = services.info(idOf(row));
  const page = services.page(idOf(row));
  const facts: Fact[] = [...rankOf(group, row, services), ["Service", page ? <a href={page}>{idOf(row)} in all rankings</a> : idOf(row)]];
  if (info?.source) facts.push(["Source", <Source info={info} repository={repository} />]);
  if (info) facts.push(["Framework", [info.framework, info.version].filter(Boolean).join(" ")]);
  if (info?.workers) facts.push(["CPUs used through", info.workers]);
  if (info?.image) facts.push(["Container image", info.image]);
  if (info?.note) facts.push(["Note", info.note]);
  if (row.details && row.details.service_cpus.length > 0)
    facts.push(["CPUs", `service on ${row.details.service_cpus.join(", ")}; generator on ${row.details.generator_cpus.join(", ")}`]);
  facts.push(["Trials", plural(row.trials, "trial") + (row.failed_trials ? `, ${row.failed_trials} more without a measurement` : "")]);
  if (row.bytes_per_reply !== null) facts.push(["Bytes per reply", human(row.bytes_per_reply, "bytes")]);
  return facts;
}

function outcomes(row: Row): Fact[] {
  const all = Object.entries(row.details?.outcomes ?? {});
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  return all
    .filter(([name, count]) => count > 0 || name === "valid")
    .map(([name, count]): Fact => [`Requests ${words(name)}`, `${whole(count)} (${percent(total ? count / total : 0)})`]);
}

export function RowDetails(props: { group: Group; row: Row; services: Services; repository: Repository }) {
  const { group, row, services, repository } = props;
  const estimates = METRICS.flatMap((metric) => {
    const found = line(group, row, metric);
    return found ? [found] : [];
  });
  return (
    <div class="details">
      <Warnings warnings={row.warnings} />
      <div class="detail-columns">
        <Facts facts={[...aboutService(group, row, services, repository), ...(row.details ? outcomes(row) : [])]} />
        {estimates.length > 0 && <Facts facts={estimates} />}
      </div>
      {row.details && row.details.points.length > 0 && <Trials row={row} />}
      <Streams row={row} />
      <BackingProcesses row={row} />
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

/** Results of each worker, if several hosts made the load. */
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
  const show = (value: number | null | undefined, of: "rate" | "time" | "bytes") => (value == null ? "–" : human(value, of));
  const points = props.row.details?.points ?? [];
  const noisy = points.some((point) => point.other_cpu_ns !== undefined || point.steal_ns !== undefined);
  const place = (order: number | undefined) => (order === undefined ? "–" : String(order + 1));
  const noise = noisy ? ["CPU of others", "Stolen"] : [];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Each trial of ${idOf(props.row)}`}>
      <table class="plain">
        <caption>Each trial</caption>
        <Heads of={["Round", "Order in the run", "Throughput", "p99", "CPU per request", "Memory, peak", "CPU of the generator", ...noise]} />
        <tbody>
          {points.map((point, index) => (
            <tr key={index}>
              <th scope="row">{point.round + 1}</th>
              <td>{place(point.order)}</td>
              {point.excluded == null ? (
                <>
                  <td>{show(point.throughput_per_s, "rate")}</td>
                  <td>{show(point.response_time_ns_p99, "time")}</td>
                  <td>{show(point.cpu_ns_per_request, "time")}</td>
                  <td>{show(point.memory_bytes_peak, "bytes")}</td>
                  <td>{show(point.generator_cpu_s === undefined ? null : point.generator_cpu_s * 1e9, "time")}</td>
                  {noisy && <td>{show(point.other_cpu_ns, "time")}</td>}
                  {noisy && <td>{show(point.steal_ns, "time")}</td>}
                </>
              ) : (
                <td colSpan={5 + noise.length}>gave nothing: {point.excluded}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
