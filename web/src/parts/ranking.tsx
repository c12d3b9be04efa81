// The ranked table: a row per service, its interval drawn under the number, warnings and reasons next to the number.

import { Component, type RefObject } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Sort } from "../view.ts";
import { idOf, positionOf, type Group, type Metric, type Row, type Services } from "../data.ts";
import { derivedIn, explanationsOf, infoOf, quantityOf, type Figure } from "../figures.ts";
import { levelOf, ownWarnings } from "../warnings.ts";
import { percent, plural } from "../format.ts";
import { METRIC, metricName } from "../metrics.ts";
import { PrintContext } from "../theme.ts";
import { bestOf, Cell, scaleOf, trialsOf, type Scale } from "./cell.tsx";
import { RowDetails, type Origin } from "./details.tsx";
import { Prose } from "./elements.tsx";
import { RankingExports } from "./exports.tsx";

interface Column {
  metric: Metric;
  /** Narrower screens show it only in the details of the row. */
  from: "phone" | "tablet" | "wide";
}

type StartKind = "warm" | "cold" | "memory" | "steady_rate";

/** The most important metrics for each kind of load, in order. For a closed load the rate comes first. */
const COLUMNS: Record<"closed" | "open" | "users" | StartKind, Column[]> = {
  closed: [
    { metric: "response_time_ns_p50", from: "tablet" },
    { metric: "response_time_ns_p99", from: "phone" },
    { metric: "cpu_ns_per_request", from: "tablet" },
    { metric: "memory_bytes_peak", from: "wide" },
    { metric: "start_ms", from: "wide" },
    { metric: "cpus_busy", from: "wide" },
  ],
  open: [
    { metric: "response_time_ns_p75", from: "wide" },
    { metric: "response_time_ns_p95", from: "wide" },
    { metric: "response_time_ns_p99", from: "phone" },
    { metric: "response_time_ns_max", from: "wide" },
    { metric: "cpu_ns_per_request", from: "phone" },
    { metric: "memory_bytes_peak", from: "tablet" },
    { metric: "cpus_busy", from: "wide" },
    { metric: "response_time_ns_p50", from: "wide" },
    { metric: "start_ms", from: "wide" },
  ],
  users: [
    { metric: "response_time_ns_p75", from: "wide" },
    { metric: "response_time_ns_p95", from: "tablet" },
    { metric: "response_time_ns_p99", from: "phone" },
    { metric: "response_time_ns_max", from: "tablet" },
    { metric: "cpus_busy", from: "phone" },
    { metric: "memory_bytes_peak", from: "wide" },
  ],
  warm: [
    { metric: "start_ms", from: "phone" },
    { metric: "start_cpu_ns", from: "phone" },
    { metric: "memory_bytes_first_reply", from: "tablet" },
    { metric: "listening_ms", from: "wide" },
  ],
  cold: [
    { metric: "start_ms", from: "phone" },
    { metric: "start_cpu_ns", from: "phone" },
    { metric: "artefact_bytes_used", from: "tablet" },
    { metric: "artefact_bytes", from: "tablet" },
    { metric: "memory_bytes_first_reply", from: "wide" },
    { metric: "listening_ms", from: "wide" },
  ],
  memory: [
    { metric: "memory_bytes_idle", from: "phone" },
    { metric: "memory_bytes_first_reply", from: "tablet" },
    { metric: "memory_bytes_after_load", from: "phone" },
    { metric: "anonymous_bytes_idle", from: "wide" },
    { metric: "file_bytes_idle", from: "wide" },
    { metric: "goodput_per_s", from: "wide" },
    { metric: "start_ms", from: "wide" },
  ],
  steady_rate: [
    { metric: "steady_rate_s", from: "phone" },
    { metric: "goodput_per_s", from: "phone" },
    { metric: "start_ms", from: "tablet" },
    { metric: "start_cpu_ns", from: "wide" },
  ],
};

/** Which of them a group has. */
function kindOf({ load }: Group): keyof typeof COLUMNS {
  if (load["kind"] === "start") return load["measures"] as StartKind;
  return load["kind"] === "users" || load["kind"] === "open" ? load["kind"] : "closed";
}

/** CPU time of backing services is shown next to that of the service itself. */
const BACKING_SERVICE_CPU = "backing_service_cpu_ns_per_request";

const withCompanions = (group: Group, columns: Metric[]): Metric[] =>
  group.services.some((row) => row[BACKING_SERVICE_CPU] != null)
    ? columns.flatMap((metric): Metric[] => (metric === "cpu_ns_per_request" ? [metric, BACKING_SERVICE_CPU] : [metric]))
    : columns;

/** For streams, metrics of their messages say more than the time of the last message. */
const MESSAGES: Metric[] = ["messages_per_s", "first_message_ns_p50", "first_message_ns_p99"];

const messagesOf = (group: Group, screen: Screen): Metric[] =>
  MESSAGES.slice(0, screen === "phone" ? 1 : undefined).filter((metric) => group.services.some((row) => row[metric] != null));

const labelOf = (group: Group, figure: Figure): string =>
  figure === BACKING_SERVICE_CPU && group.backing_services ? `${group.backing_services.join(" + ")} CPU per request` : infoOf(figure).title;

const TABLET = matchMedia("(min-width: 701px)");
const WIDE = matchMedia("(min-width: 1001px)");

type Screen = Column["from"];

const currentScreen = (): Screen => (WIDE.matches ? "wide" : TABLET.matches ? "tablet" : "phone");

/** Number of columns that fit on a screen in a ranking of streams. */
const MAX_COLUMNS: Record<Screen, number> = { phone: 2, tablet: 4, wide: 7 };

function columnsOf(group: Group, screen: Screen): Figure[] {
  const columns = withDerived(group, metricsOf(group, screen));
  // What the services are ranked by is one of them, unless it is a rate that the load sets.
  const isSet = METRIC[group.ranked_by].dimension === "rate";
  const isMissing = !isSet && !columns.includes(group.ranked_by) && group.services.some((row) => row[group.ranked_by] != null);
  return isMissing ? [group.ranked_by, ...columns] : columns;
}

/** What is derived follows the first column, and the cost over a baseline the CPU time per request. The share of the compiler is last. */
function withDerived(group: Group, metrics: Metric[]): Figure[] {
  const known = derivedIn(group.services);
  const isLate = (figure: Figure) => figure === "cpu_ns_over_baseline" || figure === "compiler_share";
  const [first, ...rest] = [...metrics.slice(0, 1), ...known.filter((figure) => !isLate(figure)), ...metrics.slice(1)] as [Figure, ...Figure[]];
  const columns = [first, ...rest];
  if (known.includes("cpu_ns_over_baseline")) columns.splice((columns.indexOf("cpu_ns_per_request") + 1) || 1, 0, "cpu_ns_over_baseline");
  return known.includes("compiler_share") ? [...columns, "compiler_share"] : columns;
}

function metricsOf(group: Group, screen: Screen): Metric[] {
  const kind = kindOf(group);
  const fits = ({ from }: Column) => from === "phone" || screen === "wide" || from === screen;
  const own = COLUMNS[kind].filter(fits).map(({ metric }) => metric);
  const messages = messagesOf(group, screen);
  const columns = withRankedFirst(group, screen, kind, [...messages, ...withCompanions(group, own)]);
  return messages.length > 0 ? columns.slice(0, MAX_COLUMNS[screen]) : columns;
}

/** The columns, preceded by the metrics that services are compared by. */
function withRankedFirst(group: Group, screen: Screen, kind: string, columns: Metric[]): Metric[] {
  // An interleaved ranking uses CPU time per request: that comes first, and goodput follows.
  if (group.ranked_by === "cpu_ns_per_request") {
    const second: Metric[] = screen === "phone" ? [] : ["goodput_per_s"];
    return [group.ranked_by, ...second, ...columns.filter((metric) => metric !== group.ranked_by)];
  }
  if (kind !== "closed") return columns;
  const first = METRIC[group.ranked_by]?.dimension === "rate" ? group.ranked_by : "goodput_per_s";
  return [first, ...columns.filter((metric) => metric !== first)];
}

/** The columns for this screen, as many as fit into the frame, but at least the first. Paper has the width of a tablet. `every`: all of them. */
function useColumns(group: Group, frame: RefObject<HTMLElement | null>, every: Figure[] | null): Figure[] {
  const printing = useContext(PrintContext);
  const [screen, setScreen] = useState(currentScreen);
  useEffect(() => {
    const onChange = () => setScreen(currentScreen());
    for (const query of [TABLET, WIDE]) query.addEventListener("change", onChange);
    return () => {
      for (const query of [TABLET, WIDE]) query.removeEventListener("change", onChange);
    };
  }, []);
  const columns = useMemo(() => columnsOf(group, printing ? "tablet" : screen), [group, screen, printing]);
  const [fitting, setFitting] = useState({ columns, count: columns.length });
  const count = fitting.columns === columns ? fitting.count : columns.length;
  useLayoutEffect(() => {
    const { clientWidth } = frame.current!;
    const table = frame.current!.querySelector<HTMLElement>(":scope > table")!;
    if (every === null && !printing && count > 1 && table.offsetWidth > clientWidth) setFitting({ columns, count: count - 1 });
  });
  useEffect(() => {
    let width = frame.current!.clientWidth;
    const resize = new ResizeObserver(() => {
      // Its height changes with the columns.
      if (frame.current!.clientWidth === width) return;
      width = frame.current!.clientWidth;
      setFitting({ columns, count: columns.length });
    });
    resize.observe(frame.current!);
    return () => resize.disconnect();
  }, [columns]);
  return useMemo(() => every ?? columns.slice(0, count), [columns, count, every]);
}

const COLLATOR = new Intl.Collator();

/** Sorted rows; rows without a value come last, whatever the direction. */
export function sortRows(rows: Row[], sort: Sort, services: Services): Row[] {
  if (sort.key === "service") {
    const entries = rows.map((row) => ({ row, name: services.name(idOf(row)) }));
    const sorted = entries.sort((left, right) => COLLATOR.compare(left.name, right.name)).map(({ row }) => row);
    return sort.descending ? sorted.reverse() : sorted;
  }
  const figure = sort.key;
  const place = new Map(rows.map((row, index) => [row, index]));
  const value = (row: Row) => (figure === "rank" ? row.rank : positionOf(quantityOf(row, figure)));
  return rows.slice().sort((left, right) => {
    const [a, b] = [value(left), value(right)];
    if (a === null || b === null) return a === b ? place.get(left)! - place.get(right)! : a === null ? 1 : -1;
    return (sort.descending ? b - a : a - b) || place.get(left)! - place.get(right)!;
  });
}

function SortableHead(props: { label: string; unit?: string; logarithmic?: boolean; of: Sort["key"]; sort: Sort; change: (sort: Sort) => void; class?: string; descendingFirst?: boolean }) {
  const active = props.sort.key === props.of;
  const next: Sort = { key: props.of, descending: active ? !props.sort.descending : (props.descendingFirst ?? false) };
  const direction = active ? (props.sort.descending ? "descending" : "ascending") : "none";
  return (
    <th scope="col" class={props.class} aria-sort={direction}>
      <button type="button" onClick={() => props.change(next)}>
        {props.label}
        {props.unit && <small>{props.unit}</small>}
        {props.logarithmic && <small>log scale</small>}
        <span class="arrow" aria-hidden="true">
          {active ? (props.sort.descending ? "▼" : "▲") : ""}
        </span>
      </button>
    </th>
  );
}

function Rank(props: { row: Row }) {
  const { rank_low: low, rank_high: high } = props.row;
  if (low === null || high === null)
    return (
      <span>
        –<span class="hidden"> not ranked</span>
      </span>
    );
  if (low === high) return <span>{low}</span>;
  // The ends of the range are the services proven better and worse; the data does not decide about the others.
  return (
    <span>
      {low}–{high}
      <small>tied with {high - low}</small>
    </span>
  );
}

function ServiceName(props: { row: Row; services: Services }) {
  const id = idOf(props.row);
  const info = props.services.info(id);
  const about = info ? [info.language, info.version, info.class] : [];
  return (
    <>
      <span class="name">{props.services.name(id)}</span>
      {info?.pinned && (
        <span class="badge" title="The version that the published source of this contract used">
          pinned
        </span>
      )}
      {props.row.generator_bound && (
        <span class="badge" title="The generator was the limit, not the service: its rate is a lower bound">
          generator’s limit
        </span>
      )}
      <span class="about">{about.filter(Boolean).join(" · ")}</span>
    </>
  );
}

/** Number of rows that are drawn initially: 400 take a quarter of a second at each sort. */
const INITIAL_ROWS = 60;

interface RowProps {
  group: Group;
  row: Row;
  services: Services;
  columns: Figure[];
  scales: Scale[];
  best: number | null;
  origin: Origin;
  open: boolean;
  toggle: (id: string) => void;
}

/** A row is redrawn only if it changed: sorting 400 of them only moves them. */
class RankedRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return (Object.keys(next) as (keyof RowProps)[]).some((key) => next[key] !== this.props[key]);
  }

  override render() {
    const { group, row, services, columns, scales, best, open, toggle } = this.props;
    const id = idOf(row);
    const own = ownWarnings(group, row);
    const doubts = own.filter((warning) => levelOf(warning) !== "note").length;
    const notes = own.length - doubts;
    return (
      <>
        <tr class={row.excluded ? "excluded" : ""} data-service={id}>
          <td class="rank">
            <Rank row={row} />
          </td>
          <th scope="row">
            <ServiceName row={row} services={services} />
          </th>
          {row.excluded ? (
            <td class="reason" colSpan={columns.length}>
              <b>Excluded at {row.excluded.stage.replaceAll("_", " ")}:</b> <Prose text={row.excluded.reason} />
            </td>
          ) : (
            columns.map((figure, index) => (
              <td key={figure} class="figure">
                <Cell group={group} row={row} figure={figure} scale={scales[index]!} best={best} />
              </td>
            ))
          )}
          <td class="more">
            <button type="button" aria-expanded={open} onClick={() => toggle(id)}>
              {doubts > 0 && (
                <span class="sign" title={plural(doubts, "warning")}>
                  ⚠<span class="hidden"> {plural(doubts, "warning")},</span>
                </span>
              )}
              {notes > 0 && doubts === 0 && (
                <span class="note-sign" title={plural(notes, "note")}>
                  i<span class="hidden"> {plural(notes, "note")},</span>
                </span>
              )}
              <span aria-hidden="true"> {open ? "▾" : "▸"}</span>
              <span class="hidden"> details of {services.name(id)}</span>
            </button>
          </td>
        </tr>
        {open && (
          <tr class="detail-row">
            <td colSpan={columns.length + 3}>
              <RowDetails group={group} row={row} services={services} origin={this.props.origin} />
            </td>
          </tr>
        )}
      </>
    );
  }
}

export function Ranking(props: {
  group: Group;
  rows: Row[];
  services: Services;
  sort: Sort;
  change: (sort: Sort) => void;
  confidence: number;
  origin: Origin;
  /** The rows whose details are shown. */
  open: string[];
  toggle: (id: string) => void;
}) {
  const { group, rows, services, sort, change, confidence, origin, open, toggle } = props;
  // A link leads to a row wherever it is.
  const [all, setAll] = useState(() => rows.slice(INITIAL_ROWS).some((row) => open.includes(idOf(row))));
  // Paper has no button.
  const printing = useContext(PrintContext);
  const shown = all || printing || rows.length <= INITIAL_ROWS ? rows : rows.slice(0, INITIAL_ROWS);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const [first] = open;
    if (first !== undefined) frame.current!.querySelector(`tr[data-service="${CSS.escape(first)}"]`)?.scrollIntoView({ block: "center" });
  }, []);
  const every = useMemo(() => columnsOf(group, "wide"), [group]);
  const [wanted, setWanted] = useState(false);
  const isComplete = wanted && !printing;
  const columns = useColumns(group, frame, isComplete ? every : null);
  const scales = useMemo(() => columns.map((figure) => scaleOf(group.services, figure)), [group, columns]);
  const best = useMemo(() => bestOf(group), [group]);
  const bound = rows.some((row) => row.generator_bound);
  const reference = group.services.find((row) => row.ratio_to_first);
  const dots = rows.some((row) => trialsOf(row, group.ranked_by).length > 1);
  const pinned = rows.some((row) => services.info(idOf(row))?.pinned);
  return (
    <div class={isComplete ? "table-frame complete" : "table-frame"} ref={frame}>
      <RankingExports group={group} rows={rows} services={services} columns={columns}>
        {(isComplete || columns.length < every.length) && (
          <button type="button" aria-pressed={isComplete} onClick={() => setWanted(!wanted)}>
            All {every.length} columns
          </button>
        )}
      </RankingExports>
      <table class="ranking">
        <caption>
          Ranked by {metricName(group.ranked_by).toLowerCase()}. A rank is a range if the data cannot narrow it down: 2–5 means
          that the service may be anything from second to fifth.
          {reference && ` × is the ratio to ${services.name(idOf(reference))}, within the same rounds.`} ± is the half-width of the {percent(confidence)} confidence interval, over fresh starts of the service; a wide interval shows its
          two ends, and one wider than the value itself is “unknown”.
          {dots && " Each dot under a bar is one trial."}
          {scales.some((scale) => scale.logarithmic) && " On a logarithmic scale, equal distances are equal factors."}
          {explanationsOf(columns)}
          {pinned && " pinned: the version that the published source of the contract used; the others are the newest that can be installed."}
          {bound && " ≥: the generator was the limit, so the service may do more, and its rank may be 1; compare CPU per request."} ⚠: the number is
          in doubt; the details of the row give the reason.
        </caption>
        <thead>
          <tr>
            <SortableHead label="Rank" of="rank" sort={sort} change={change} class="rank" />
            <SortableHead label="Service" of="service" sort={sort} change={change} />
            {columns.map((figure, index) => (
              <SortableHead
                key={figure}
                label={labelOf(group, figure)}
                unit={scales[index]!.unit.symbol}
                logarithmic={scales[index]!.logarithmic}
                of={figure}
                sort={sort}
                change={change}
                class="figure"
                descendingFirst={infoOf(figure).better === "higher"}
              />
            ))}
            <th scope="col" class="more">
              <span class="hidden">Details</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <RankedRow
              key={idOf(row)}
              group={group}
              row={row}
              services={services}
              columns={columns}
              scales={scales}
              best={best}
              origin={origin}
              open={open.includes(idOf(row))}
              toggle={toggle}
            />
          ))}
          {rows.length === 0 && (
            <tr>
              <td colSpan={columns.length + 3} class="quiet">
                No service matches the filter.
              </td>
            </tr>
          )}
        </tbody>
      </table>
      {shown.length < rows.length && (
        <p>
          <button type="button" class="plain-button" onClick={() => setAll(true)}>
            Show all {rows.length} services
          </button>{" "}
          <span class="quiet">These are the first {INITIAL_ROWS} in this order. Search, filters, sorting and charts cover all services.</span>
        </p>
      )}
    </div>
  );
}
