// Tables of each trial of a service: its figures, its streams, its backing services, and the workers that made the load.

import { idOf, METRICS, type AfterLoad, type BackingPoint, type Messages, type Row, type Times, type TrialPoint } from "../data.ts";
import { digits, formatCount, humanize, percent, words, type Dimension } from "../format.ts";
import { METRIC, metricName, toBaseUnit } from "../metrics.ts";
import { ScrollTable } from "./elements.tsx";

const formatOrDash = (value: number | "no_bound" | null | undefined, dimension: Dimension): string =>
  value == null ? "–" : value === "no_bound" ? "no bound" : humanize(value, dimension);

/** How a warm-up ended and how long it took: under the light load, and under the planned one. */
function warmUpText({ warm_up }: TrialPoint): string {
  if (!warm_up) return "–";
  const phases = warm_up.light_s === undefined ? [warm_up.planned_s] : [warm_up.light_s, warm_up.planned_s];
  return `${words(warm_up.classification)}, ${phases.map(digits).join(" + ")} s`;
}

/** The trials of starts: what is known of each. */
export function Starts(props: { row: Row }) {
  const points = props.row.details?.points ?? [];
  const known = METRICS.filter((metric) => points.some((point) => point[metric] !== undefined));
  const shown = (value: number | "no_bound" | undefined, metric: (typeof METRICS)[number]) => formatOrDash(typeof value === "number" ? toBaseUnit(metric, value) : value, METRIC[metric].dimension);
  return (
    <ScrollTable label={`Each start of ${idOf(props.row)}`} caption="Each start" columns={["Round", ...known.map(metricName)]}>
      {points.map((point, index) => (
        <tr key={index}>
          <th scope="row">{point.round + 1}</th>
          {point.excluded == null ? known.map((metric) => <td key={metric}>{shown(point[metric], metric)}</td>) : <td colSpan={known.length}>gave nothing: {point.excluded}</td>}
        </tr>
      ))}
    </ScrollTable>
  );
}

export function Trials(props: { row: Row }) {
  const points = props.row.details?.points ?? [];
  const noisy = points.some((point) => point.other_cpu_ns !== undefined || point.steal_ns !== undefined);
  const place = (order: number | undefined) => (order === undefined ? "–" : String(order + 1));
  const noise = noisy ? ["CPU of others", "Stolen"] : [];
  const compiles = points.some((point) => point.compiler_share !== undefined);
  const warm = [...(points.some((point) => point.warm_up) ? ["Warm-up"] : []), ...(compiles ? ["Compiler"] : [])];
  return (
    <ScrollTable
      label={`Each trial of ${idOf(props.row)}`}
      caption="Each trial"
      columns={["Round", "Order in the run", "Throughput", "p99", "CPU per request", "Memory, peak", "CPU of the generator", ...warm, ...noise]}
    >
      {points.map((point, index) => (
        <tr key={index}>
          <th scope="row">{point.round + 1}</th>
          <td>{place(point.order)}</td>
          {point.excluded == null ? (
            <>
              <td>{formatOrDash(point.throughput_per_s, "rate")}</td>
              <td>{formatOrDash(point.response_time_ns_p99, "time")}</td>
              <td>{formatOrDash(point.cpu_ns_per_request, "time")}</td>
              <td>{formatOrDash(point.memory_bytes_peak, "bytes")}</td>
              <td>{formatOrDash(point.generator_cpu_s === undefined ? null : point.generator_cpu_s * 1e9, "time")}</td>
              {warm.includes("Warm-up") && <td>{warmUpText(point)}</td>}
              {compiles && <td>{point.compiler_share === undefined ? "–" : percent(point.compiler_share)}</td>}
              {noisy && <td>{formatOrDash(point.other_cpu_ns, "time")}</td>}
              {noisy && <td>{formatOrDash(point.steal_ns, "time")}</td>}
            </>
          ) : (
            <td colSpan={5 + warm.length + noise.length}>gave nothing: {point.excluded}</td>
          )}
        </tr>
      ))}
    </ScrollTable>
  );
}

interface Column {
  head: string;
  /** Null if it is not known. */
  value: (messages: Messages) => string | null;
}

const time = (head: string, times: (messages: Messages) => Times | null | undefined, percentile: keyof Times): Column => ({
  head,
  value: (messages) => {
    const known = times(messages);
    return known ? humanize(known[percentile], "time") : null;
  },
});

/** Faults are shown only where they occurred. */
const fault = (head: string, count: (messages: Messages) => number | undefined): Column => ({
  head,
  value: (messages) => {
    const faults = count(messages);
    return faults ? formatCount(faults) : null;
  },
});

/** The time per output token (TPOT) of each answer. */
const perToken = ({ llm }: Messages) => llm?.tpot_ns ?? llm?.itl_ns;

const COLUMNS: Column[] = [
  { head: "Messages", value: (messages) => formatCount(messages.received) },
  time("First, p50", ({ first_ns }) => first_ns, "p50"),
  time("First, p99", ({ first_ns }) => first_ns, "p99"),
  time("First token, p50", ({ llm }) => llm?.ttft_ns, "p50"),
  time("First token, p99", ({ llm }) => llm?.ttft_ns, "p99"),
  time("Per token, p50", perToken, "p50"),
  time("Per token, p99", perToken, "p99"),
  time("Inter-chunk, p50", ({ llm, gap_ns }) => llm && gap_ns, "p50"),
  time("Inter-chunk, p99", ({ llm, gap_ns }) => llm && gap_ns, "p99"),
  time("Gap, p50", ({ llm, gap_ns }) => (llm ? null : gap_ns), "p50"),
  time("Gap, p99", ({ llm, gap_ns }) => (llm ? null : gap_ns), "p99"),
  time("Longest gap", ({ gap_ns }) => gap_ns, "max"),
  time("Last, p50", ({ last_ns }) => last_ns, "p50"),
  time("Last, p99", ({ last_ns }) => last_ns, "p99"),
  { head: "Tokens", value: ({ llm }) => (llm?.usage ? humanize(llm.usage.per_s, "rate") : null) },
  fault("Missing", ({ ids }) => ids?.missing),
  fault("Doubled", ({ ids }) => ids?.doubled),
  fault("Late", ({ ids }) => ids?.late),
  fault("Ended early", ({ streams }) => streams?.ended_early),
];

export function Streams(props: { row: Row }) {
  const trials = (props.row.details?.points ?? []).flatMap(({ round, messages }) => (messages ? [{ round, messages }] : []));
  if (trials.length === 0) return null;
  const columns = COLUMNS.filter(({ value }) => trials.some(({ messages }) => value(messages) !== null));
  return (
    <ScrollTable
      label={`Streams of ${idOf(props.row)} in each trial`}
      caption="Streams in each trial. Times run from sending a request to the end of a message; a gap is from one message of a stream to the next."
      columns={["Round", ...columns.map(({ head }) => head)]}
    >
      {trials.map(({ round, messages }, index) => (
        <tr key={index}>
          <th scope="row">{round + 1}</th>
          {columns.map(({ head, value }) => (
            <td key={head}>{value(messages) ?? "–"}</td>
          ))}
        </tr>
      ))}
    </ScrollTable>
  );
}

function connections({ watched }: BackingPoint): string {
  if (!watched) return "–";
  const states = Object.entries(watched.connections).map(([what, mean]) => `${words(what)} ${digits(mean)}`);
  return `up to ${watched.connections_most}${states.length > 0 ? `; on average ${states.join(", ")}` : ""}`;
}

function BackingServiceTable(props: { row: Row; entries: { round: number; one: BackingPoint }[] }) {
  if (props.entries.length === 0) return null;
  return (
    <ScrollTable
      label={`Backing services of ${idOf(props.row)} in each trial`}
      caption="Backing services in each trial"
      columns={["Round", "Backing service", "CPU per request", "Memory, peak", "Written to disk", "Connections of the service"]}
    >
      {props.entries.map(({ round, one }, index) => (
        <tr key={index}>
          <th scope="row">{round + 1}</th>
          <td>{[one.title, one.version].filter(Boolean).join(" ")}</td>
          <td>{formatOrDash(one.cpu_ns_per_request, "time")}</td>
          <td>{formatOrDash(one.memory_bytes_peak, "bytes")}</td>
          <td>{formatOrDash(one.disk_written_bytes, "bytes")}</td>
          <td>{connections(one)}</td>
        </tr>
      ))}
    </ScrollTable>
  );
}

function AfterLoadTable(props: { row: Row; entries: { round: number; one: AfterLoad }[] }) {
  if (props.entries.length === 0) return null;
  const expected = ({ low, high }: AfterLoad) => (low === high ? formatCount(low) : `${formatCount(low)} to ${formatCount(high)}`);
  return (
    <ScrollTable
      label={`Checks in the backing services of ${idOf(props.row)} after each load`}
      caption="Checks in the backing services after the load"
      columns={["Round", "Backing service", "Check", "Expected", "Found"]}
    >
      {props.entries.map(({ round, one }, index) => (
        <tr key={index}>
          <th scope="row">{round + 1}</th>
          <td>{one.backing_service}</td>
          <td>
            {one.name}: {one.equals}
          </td>
          <td>{expected(one)}</td>
          <td>{formatCount(one.found)}</td>
        </tr>
      ))}
    </ScrollTable>
  );
}

export function BackingServices(props: { row: Row }) {
  const points = props.row.details?.points ?? [];
  return (
    <>
      <BackingServiceTable row={props.row} entries={points.flatMap(({ round, backing_services }) => (backing_services ?? []).map((one) => ({ round, one })))} />
      <AfterLoadTable row={props.row} entries={points.flatMap(({ round, after }) => (after ?? []).map((one) => ({ round, one })))} />
    </>
  );
}

/** Results of each worker, if several hosts made the load. */
export function Workers(props: { row: Row }) {
  const trials = props.row.details?.points.filter((point) => (point.workers?.length ?? 0) > 0) ?? [];
  if (trials.length === 0) return null;
  return (
    <ScrollTable
      label={`Each worker of ${idOf(props.row)}`}
      caption="Each worker"
      columns={["Round", "Worker", "Throughput", "p50", "p99", "Sent late, p99", "CPU"]}
    >
      {trials.flatMap((point, index) =>
        point.workers!.map((worker) => (
          <tr key={`${index} ${worker.name}`}>
            <th scope="row">{point.round + 1}</th>
            <td>{worker.name}</td>
            <td>{humanize(worker.throughput_per_s, "rate")}</td>
            <td>{formatOrDash(worker.response_time_ns_p50, "time")}</td>
            <td>{formatOrDash(worker.response_time_ns_p99, "time")}</td>
            <td>{formatOrDash(worker.own_lag_ns_p99, "time")}</td>
            <td>{humanize(worker.cpu_s * 1e9, "time")}</td>
          </tr>
        )),
      )}
    </ScrollTable>
  );
}
