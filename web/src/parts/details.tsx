// The details of a row: all estimates, the outcomes of the requests, each trial, the log of a failure.

import { groupKey, rowAddress } from "../view.ts";
import { tiedWith } from "../comparisons.ts";
import { hasNoBound, idOf, isEstimate, isLowerBound, METRICS, noBound, positionOf, type Estimate, type Group, type Metric, type Report, type Row, type ServiceInfo, type Services } from "../data.ts";
import { warningsOf } from "../warnings.ts";
import { digits, formatCount, humanize, inUnit, nonBreaking, percent, plural, signedInterval, unitFor, withUnit, words } from "../format.ts";
import { estimateWithUnit, METRIC, metricName, toBaseUnit } from "../metrics.ts";
import { Facts, Prose, Warnings, type Fact } from "./elements.tsx";
import { BackingServices, Starts, Streams, Trials, Workers } from "./trials.tsx";

/** The origin of the results: the repository and the commit, either of which may be unknown, and the suite. */
export interface Origin {
  repository: string | null;
  commit: string | null;
  suite: string;
}

export function originOf({ environment, suite }: Report): Origin {
  const address = environment.repository ?? "";
  return {
    // Only these schemes are linked, whatever the environment contains.
    repository: /^https?:\/\//.test(address) ? address.replace(/(\.git)?\/*$/, "") : null,
    commit: environment.commit ?? null,
    suite,
  };
}

/** A link to the source at the measured commit; only the path if no repository is known. */
function Source(props: { info: ServiceInfo; origin: Origin }) {
  const { info, origin } = props;
  // The variant of a service from another revision names that revision.
  const [, revision] = /@([0-9a-f]{7,40})$/.exec(info.variant) ?? [];
  const [commit, dirty] = (revision ?? origin.commit ?? "").split("+");
  const at = commit ? `, commit ${commit}${dirty ? " with changes" : ""}` : "";
  const path = info.source!;
  if (origin.repository === null || !commit) return <>{`${path}${at}`}</>;
  const link = `${origin.repository}/tree/${encodeURIComponent(commit)}/${path.split("/").map(encodeURIComponent).join("/")}`;
  return (
    <>
      <a href={link} rel="noreferrer">
        {path}
      </a>
      {at}
    </>
  );
}

function estimateFact(group: Group, row: Row, metric: Metric): Fact | null {
  const quantity = row[metric];
  const position = positionOf(quantity);
  if (hasNoBound(quantity)) return [metricName(metric), noBound(quantity)];
  if (quantity == null || position === null) return null;
  const { dimension } = METRIC[metric];
  const unit = unitFor(dimension, [toBaseUnit(metric, position)]);
  const show = (value: number) => withUnit(toBaseUnit(metric, value), unit);
  const name = metricName(metric);
  const doubt = warningsOf(group, row, metric).length > 0 ? " ⚠ in doubt" : "";
  if (!isEstimate(quantity)) return [name, nonBreaking(`${show(position)} (one trial, no interval)${doubt}`)];
  return [name, nonBreaking(`${show(quantity.point)} (${show(quantity.low)} to ${show(quantity.high)})${doubt}`)];
}

/** Maximum number of ties that are listed. */
const MAX_TIES = 12;

function rankFacts(group: Group, row: Row, services: Services): Fact[] {
  if (row.rank === null) return [];
  const alone = row.rank_low === row.rank_high;
  const bound = isLowerBound(row, group.ranked_by) ? "; the generator was the limit, so its rates are lower bounds" : "";
  const facts: Fact[] = [["Rank", (alone ? String(row.rank_low) : `between ${row.rank_low} and ${row.rank_high}`) + bound]];
  const ties = tiedWith(group, row).map((id) => services.name(id));
  if (ties.length > 0) facts.push(["Statistically tied with", ties.slice(0, MAX_TIES).join(", ") + (ties.length > MAX_TIES ? ` and ${ties.length - MAX_TIES} others` : "")]);
  return facts;
}

/** The commands that build, start and measure a service. */
function commandFacts(info: ServiceInfo, origin: Origin): Fact[] {
  const build = (info.build ?? []).map((line, index) => (
    <code key={index} class="line">
      {line}
    </code>
  ));
  const facts: Fact[] = build.length > 0 ? [["Build", build]] : [];
  if (info.start) facts.push(["Start", <code>{info.start}</code>]);
  facts.push(["Measure it again", <code>{`prony run ${origin.suite} --service ${idOf(info)}`}</code>]);
  return facts;
}

function serviceFacts(group: Group, row: Row, services: Services, origin: Origin): Fact[] {
  const info = services.info(idOf(row));
  const page = services.page(idOf(row));
  const facts: Fact[] = [...rankFacts(group, row, services), ["Service", page ? <a href={page}>{idOf(row)} in all rankings</a> : idOf(row)]];
  if (info?.source) facts.push(["Source", <Source info={info} origin={origin} />]);
  if (info) facts.push(...commandFacts(info, origin));
  if (info) facts.push(["Framework", [info.framework, info.version].filter(Boolean).join(" ")]);
  if (info?.workers) facts.push(["CPUs used through", <Prose text={info.workers} />]);
  if (info?.image) facts.push(["Container image", info.image]);
  if (info?.note) facts.push(["Note", <Prose text={info.note} />]);
  if (row.details && row.details.service_cpus.length > 0)
    facts.push(["CPUs", `service on ${row.details.service_cpus.join(", ")}; generator on ${row.details.generator_cpus.join(", ")}`]);
  facts.push(["Trials", plural(row.trials, "trial") + (row.failed_trials ? `, ${row.failed_trials} more without a measurement` : "")]);
  if (row.bytes_per_reply !== null) facts.push(["Bytes per reply", humanize(row.bytes_per_reply, "bytes")]);
  return facts;
}

const ratioText = ({ point, low, high }: Estimate): string => `${digits(point)} (${digits(low)} to ${digits(high)})`;

function tlsFacts(row: Row): Fact[] {
  const { tls } = row;
  if (!tls) return [];
  const facts: Fact[] = [];
  if (tls.cpu_ratio) facts.push(["CPU per request, TLS ÷ clear", ratioText(tls.cpu_ratio)]);
  if (tls.goodput_ratio) facts.push(["Goodput, TLS ÷ clear", ratioText(tls.goodput_ratio)]);
  if (tls.handshake_cpu_ns) facts.push(["CPU per handshake", estimateWithUnit("cpu_ns_per_request", tls.handshake_cpu_ns, unitFor("time", [tls.handshake_cpu_ns.point]))]);
  if (tls.resumed_share !== null) facts.push(["Handshakes resumed", percent(tls.resumed_share)]);
  const { agreed } = tls;
  if (agreed) facts.push(["TLS agreed", [agreed.version, agreed.cipher_suite, agreed.key_exchange, agreed.protocol].filter(Boolean).join(", ")]);
  return facts;
}

function derivedFacts(row: Row): Fact[] {
  const facts: Fact[] = [];
  const ends = (estimate: Estimate, dimension: "bytes" | "time") => {
    const unit = unitFor(dimension, [Math.abs(estimate.point)]);
    const { value, half } = signedInterval(estimate, (number) => inUnit(number, unit));
    return nonBreaking(`${value} ${unit.symbol} (${half})`);
  };
  const over = row.over_baseline;
  if (over) facts.push([`CPU per request over ${over.baseline}`, `${ends(over.cpu_ns_per_request, "time")}, ${ratioText(over.ratio)} ×`]);
  if (row.memory_bytes_per_connection) facts.push(["Memory per connection", ends(row.memory_bytes_per_connection, "bytes")]);
  return facts;
}

function outcomeFacts(row: Row): Fact[] {
  const all = Object.entries(row.details?.outcomes ?? {});
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  return all
    .filter(([name, count]) => count > 0 || name === "valid")
    .map(([name, count]): Fact => [`Requests ${words(name)}`, `${formatCount(count)} (${percent(total ? count / total : 0)})`]);
}

export function RowDetails(props: { group: Group; row: Row; services: Services; origin: Origin }) {
  const { group, row, services, origin } = props;
  const estimates = METRICS.flatMap((metric) => {
    const fact = estimateFact(group, row, metric);
    return fact ? [fact] : [];
  });
  return (
    <div class="details">
      <p class="permalink">
        <a href={rowAddress(groupKey(group), idOf(row))}>Link to this row</a>
      </p>
      <Warnings warnings={row.warnings} />
      <div class="detail-columns">
        <Facts facts={[...serviceFacts(group, row, services, origin), ...tlsFacts(row), ...derivedFacts(row), ...(row.details ? outcomeFacts(row) : [])]} />
        {estimates.length > 0 && <Facts facts={estimates} />}
      </div>
      {row.details && row.details.points.length > 0 && (group.load["kind"] === "start" ? <Starts row={row} /> : <Trials row={row} />)}
      <Streams row={row} />
      <BackingServices row={row} />
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
