// The ranked table: a row per service, its interval drawn under the number, warnings and reasons where the number stands.

import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { idOf, isEstimate, isLowerBound, ownWarnings, positionOf, type Group, type Metric, type Row, type Services } from "../data.ts";
import { inUnit, percent, plural, plusMinus, unitFor, type Unit } from "../format.ts";
import { METRIC, metricName, toBase } from "../metrics.ts";
import { RowDetails } from "./details.tsx";

export interface Sort {
  key: "rank" | "service" | Metric;
  down: boolean;
}

interface Column {
  metric: Metric;
  /** A narrower screen leaves it to the details of the row. */
  from: "phone" | "tablet" | "wide";
}

/** What matters under each kind of load, in order. Under a closed one the rate comes first. */
const COLUMNS: Record<"closed" | "open" | "users", Column[]> = {
  closed: [
    { metric: "response_time_ns_p50", from: "tablet" },
    { metric: "response_time_ns_p99", from: "phone" },
    { metric: "cpu_ns_per_request", from: "tablet" },
    { metric: "memory_bytes_peak", from: "wide" },
    { metric: "start_ms", from: "wide" },
  ],
  open: [
    { metric: "response_time_ns_p75", from: "wide" },
    { metric: "response_time_ns_p95", from: "wide" },
    { metric: "response_time_ns_p99", from: "phone" },
    { metric: "response_time_ns_max", from: "wide" },
    { metric: "cpu_ns_per_request", from: "phone" },
    { metric: "memory_bytes_peak", from: "tablet" },
  ],
  users: [
    { metric: "response_time_ns_p75", from: "wide" },
    { metric: "response_time_ns_p95", from: "tablet" },
    { metric: "response_time_ns_p99", from: "phone" },
    { metric: "response_time_ns_max", from: "tablet" },
    { metric: "cpus_busy", from: "phone" },
    { metric: "memory_bytes_peak", from: "wide" },
  ],
};

/** What the companions of a service use stands beside what it uses itself. */
const COMPANIONS = "companion_cpu_ns_per_request";

const withCompanions = (group: Group, columns: Metric[]): Metric[] =>
  group.services.some((row) => row[COMPANIONS] != null)
    ? columns.flatMap((metric): Metric[] => (metric === "cpu_ns_per_request" ? [metric, COMPANIONS] : [metric]))
    : columns;

const labelOf = (group: Group, metric: Metric): string =>
  metric === COMPANIONS && group.companions ? `${group.companions.join(" + ")} CPU / request` : METRIC[metric].title;

const TABLET = matchMedia("(min-width: 701px)");
const WIDE = matchMedia("(min-width: 1001px)");

type Screen = Column["from"];

const screen = (): Screen => (WIDE.matches ? "wide" : TABLET.matches ? "tablet" : "phone");

function columnsOf(group: Group, on: Screen): Metric[] {
  const kind = group.load["kind"] === "users" ? "users" : group.load["kind"] === "open" ? "open" : "closed";
  const fits = ({ from }: Column) => from === "phone" || on === "wide" || from === on;
  const columns = withCompanions(
    group,
    COLUMNS[kind].filter(fits).map(({ metric }) => metric),
  );
  // A board in turns is ranked by what a request costs: that comes first, what the clock says stands behind it.
  if (group.ranked_by === "cpu_ns_per_request") {
    const second: Metric[] = on === "phone" ? [] : ["goodput_per_s"];
    return [group.ranked_by, ...second, ...columns.filter((metric) => metric !== group.ranked_by)];
  }
  return kind === "closed" ? [METRIC[group.ranked_by]?.dimension === "rate" ? group.ranked_by : "goodput_per_s", ...columns] : columns;
}

/** The columns that fit the screen. */
function useColumns(group: Group): Metric[] {
  const [on, setScreen] = useState(screen);
  useEffect(() => {
    const changed = () => setScreen(screen());
    for (const query of [TABLET, WIDE]) query.addEventListener("change", changed);
    return () => {
      for (const query of [TABLET, WIDE]) query.removeEventListener("change", changed);
    };
  }, []);
  return columnsOf(group, on);
}

/** Sorted rows; what has no value comes last, whichever way the rest goes. */
export function sortRows(rows: Row[], sort: Sort, services: Services): Row[] {
  const name = (row: Row) => services.name(idOf(row));
  if (sort.key === "service") {
    const sorted = rows.slice().sort((left, right) => name(left).localeCompare(name(right)));
    return sort.down ? sorted.reverse() : sorted;
  }
  const metric = sort.key;
  const place = new Map(rows.map((row, index) => [row, index]));
  // One that the generator kept from its rank may be the best.
  const rank = (row: Row) => row.rank ?? (row.generator_bound && row.excluded === null ? 0 : null);
  const value = (row: Row) => (metric === "rank" ? rank(row) : positionOf(row[metric]));
  return rows.slice().sort((left, right) => {
    const [a, b] = [value(left), value(right)];
    if (a === null || b === null) return a === b ? place.get(left)! - place.get(right)! : a === null ? 1 : -1;
    return (sort.down ? b - a : a - b) || place.get(left)! - place.get(right)!;
  });
}

interface Scale {
  unit: Unit;
  most: number;
}

function scaleOf(rows: Row[], metric: Metric): Scale {
  const values: number[] = [];
  let most = 0;
  let point = 0;
  for (const row of rows) {
    const quantity = row[metric];
    const position = positionOf(quantity);
    if (position === null) continue;
    values.push(toBase(metric, position));
    point = Math.max(point, toBase(metric, position));
    most = Math.max(most, toBase(metric, isEstimate(quantity) ? quantity.high : position));
  }
  // One interval without bound must not press all bars flat.
  most = Math.min(most, 1.6 * point);
  return { unit: unitFor(METRIC[metric].dimension, values), most };
}

/** The number, its half-width, and the interval as a bar on the scale of its column. */
function Cell(props: { row: Row; metric: Metric; scale: Scale }) {
  const { row, metric, scale } = props;
  const quantity = row[metric];
  if (quantity == null) return <span class="quiet">not known</span>;
  const at = (value: number) => `${Math.min(100, (100 * toBase(metric, value)) / scale.most)}%`;
  const position = positionOf(quantity);
  if (position === null) return <span class="quiet">not known</span>;
  const least = isLowerBound(row, metric) ? "≥ " : "";
  if (!isEstimate(quantity)) {
    return (
      <span class="number" title="One trial alone has no interval">
        {least}
        {inUnit(toBase(metric, position), scale.unit)} <small>1 trial</small>
      </span>
    );
  }
  const half = (quantity.high - quantity.low) / 2 / quantity.point;
  const range = `${inUnit(toBase(metric, quantity.low), scale.unit)} to ${inUnit(toBase(metric, quantity.high), scale.unit)} ${scale.unit.symbol}`;
  const width = `max(2px, calc(${at(quantity.high)} - ${at(quantity.low)}))`;
  return (
    <span class="number" title={least ? `The generator was the limit: at least ${range}` : range}>
      {least}
      {inUnit(toBase(metric, quantity.point), scale.unit)} <small>{plusMinus(half)}</small>
      <span class="track" aria-hidden="true">
        <span class="fill" style={{ width: at(quantity.point) }} />
        <span class="interval" style={{ left: at(quantity.low), width }} />
      </span>
    </span>
  );
}

function Head(props: { label: string; unit?: string; of: Sort["key"]; sort: Sort; change: (sort: Sort) => void; class?: string; firstDown?: boolean }) {
  const active = props.sort.key === props.of;
  const next: Sort = { key: props.of, down: active ? !props.sort.down : (props.firstDown ?? false) };
  const direction = active ? (props.sort.down ? "descending" : "ascending") : "none";
  return (
    <th scope="col" class={props.class} aria-sort={direction}>
      <button type="button" onClick={() => props.change(next)}>
        {props.label}
        {props.unit && <small>{props.unit}</small>}
        <span class="arrow" aria-hidden="true">
          {active ? (props.sort.down ? "▼" : "▲") : ""}
        </span>
      </button>
    </th>
  );
}

function Rank(props: { row: Row }) {
  const { row } = props;
  if (row.rank === null) return <span title={row.generator_bound ? "Not ranked: the generator was the limit" : "Not ranked"}>–</span>;
  const range = row.rank_low === row.rank_high ? `${row.rank_low}` : `${row.rank_low}–${row.rank_high}`;
  const tied = row.tied_with.length > 0;
  return <span title={tied ? `Cannot be told apart from ${row.tied_with.join(", ")}` : `Rank ${range}`}>{range}</span>;
}

function ServiceName(props: { row: Row; services: Services }) {
  const id = idOf(props.row);
  const info = props.services.info(id);
  const about = info ? [info.language, info.version, info.class] : [];
  return (
    <>
      <span class="name">{props.services.name(id)}</span>
      {info?.era && <span class="badge">era</span>}
      {props.row.generator_bound && (
        <span class="badge" title="The generator was the limit, not the service: its rate is a lower bound">
          generator’s limit
        </span>
      )}
      <span class="about">{about.filter(Boolean).join(" · ")}</span>
    </>
  );
}

export function Ranking(props: {
  group: Group;
  rows: Row[];
  services: Services;
  sort: Sort;
  change: (sort: Sort) => void;
  confidence: number;
}) {
  const { group, rows, services, sort, change } = props;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const columns = useColumns(group);
  const scales = columns.map((metric) => scaleOf(group.services, metric));
  const bound = rows.some((row) => row.generator_bound);
  return (
    <div class="table-frame">
      <table class="ranking">
        <caption>
          Ranked by {metricName(group.ranked_by).toLowerCase()}. A rank is a range where the data cannot tell more: 2–5 means
          that the service may be second and may be fifth. ± is half the {percent(props.confidence)} confidence interval, over fresh starts of the service.
          {columns.includes("cpus_busy") && " CPU: 100 % is one CPU that is busy all the time."}
          {bound && " ≥: the generator was the limit, so the service may do more and has no rank; compare CPU per request."}
        </caption>
        <thead>
          <tr>
            <Head label="Rank" of="rank" sort={sort} change={change} class="rank" />
            <Head label="Service" of="service" sort={sort} change={change} />
            {columns.map((metric, index) => (
              <Head
                key={metric}
                label={labelOf(group, metric)}
                unit={scales[index]!.unit.symbol}
                of={metric}
                sort={sort}
                change={change}
                class="figure"
                firstDown={METRIC[metric].better === "higher"}
              />
            ))}
            <th scope="col" class="more">
              <span class="hidden">Details</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const id = idOf(row);
            const shown = open.has(id);
            const warnings = ownWarnings(group, row).length;
            return (
              <Fragment key={id}>
                <tr class={row.excluded ? "excluded" : ""} data-service={id}>
                  <td class="rank">
                    <Rank row={row} />
                  </td>
                  <th scope="row">
                    <ServiceName row={row} services={services} />
                  </th>
                  {row.excluded ? (
                    <td class="reason" colSpan={columns.length}>
                      <b>Excluded at {row.excluded.stage.replaceAll("_", " ")}:</b> {row.excluded.reason}
                    </td>
                  ) : (
                    columns.map((metric, index) => (
                      <td key={metric} class="figure">
                        <Cell row={row} metric={metric} scale={scales[index]!} />
                      </td>
                    ))
                  )}
                  <td class="more">
                    <button type="button" aria-expanded={shown} onClick={() => toggle(id)}>
                      {warnings > 0 && (
                        <span class="sign" title={plural(warnings, "warning")}>
                          ⚠<span class="hidden"> {plural(warnings, "warning")},</span>
                        </span>
                      )}
                      <span aria-hidden="true">{shown ? "▾" : "▸"}</span>
                      <span class="hidden"> details of {services.name(id)}</span>
                    </button>
                  </td>
                </tr>
                {shown && (
                  <tr class="detail-row">
                    <td colSpan={columns.length + 3}>
                      <RowDetails row={row} services={services} />
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
          {rows.length === 0 && (
            <tr>
              <td colSpan={columns.length + 3} class="quiet">
                No service passes the filter.
              </td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
