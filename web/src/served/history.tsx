// One service over all runs.

import { useMemo, useState } from "preact/hooks";
import { axis, base, tip, tooltip, type Chart, type Hovered, type RenderApi } from "../charts/chart.ts";
import { hasNoBound, isEstimate, METRICS, positionOf, type Metric } from "../data.ts";
import { digits, formatTime, inUnit, plural, ratio, unitFor, withUnit } from "../format.ts";
import { METRIC, metricName, toBaseUnit } from "../metrics.ts";
import { Figure } from "../parts/figure.tsx";
import { useParams } from "../view.ts";
import { getJson, Loaded, send, useRequest, type AcceptedChange, type ChangePoint, type HistoryLine, type HistoryPoint, type Permissions, type ServiceKey } from "./api.tsx";
import { useChange } from "./manage.tsx";

const changeText = (change: ChangePoint): string => (change.ratio ? `× ${ratio(change.ratio.low)}–${ratio(change.ratio.high)}` : "changed");

/** The ends of an axis of time, with some space on both sides: a day if there is only one point. */
function timeRange(times: number[]): { min: number; max: number } {
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const space = 0.04 * (last - first) || 12 * 3600 * 1000;
  return { min: first - space, max: last + space };
}

/** One metric over all runs, each with its interval. */
function historyChart(line: HistoryLine, metric: Metric, accepted: AcceptedChange[]): Chart | null {
  const points = line.runs.flatMap((past: HistoryPoint) => {
    const quantity = past[metric];
    const position = positionOf(quantity);
    if (position === null || quantity == null) return [];
    const estimate = isEstimate(quantity) ? quantity : null;
    return [{ past, at: Date.parse(past.started_at), value: toBaseUnit(metric, position), low: estimate?.low ?? null, high: estimate?.high ?? null }];
  });
  if (points.length === 0) return null;
  const { dimension, better } = METRIC[metric];
  const unit = unitFor(dimension, points.map((point) => point.value));
  const changes = line.changes.filter((change) => change.metric === metric && points.some((point) => point.past.run === change.run));
  const name = metricName(metric);
  const noteOf = (run: string) => accepted.find((one) => one.metric === metric && one.run === run)?.note;
  const other = points.some((point) => !point.past.alike);
  const unbounded = line.runs.filter((past) => hasNoBound(past[metric])).map((past) => past.run);
  return {
    id: `history-${metric}`,
    title: `${name}, ${unit.symbol}, run by run`,
    reading: `${better === "lower" ? "Lower" : "Higher"} is better. Each point is a run with its confidence interval${changes.length > 0 ? "; a dashed line marks where the level changed, a dotted one a change that was accepted" : ""}.${other ? " Runs with a hollow point were made in other circumstances than the newest one; the search for changes leaves them out." : ""}${unbounded.length > 0 ? ` No bound: ${unbounded.join(", ")}.` : ""}`,
    height: 280,
    table: {
      head: ["Run", "Started", `${name}, ${unit.symbol}`, "low", "high"],
      rows: points.map((point) => [
        point.past.run,
        formatTime(point.past.started_at),
        inUnit(point.value, unit),
        point.low === null ? "one trial" : inUnit(point.low, unit),
        point.high === null ? "one trial" : inUnit(point.high, unit),
      ]),
    },
    option: (theme) => ({
      ...base(theme),
      grid: { left: 72, right: 20, top: 26, bottom: 32 },
      tooltip: {
        ...tooltip(theme),
        trigger: "axis",
        formatter: (hovered: Hovered[]) => {
          const point = points[hovered[0]?.dataIndex ?? 0];
          if (!point) return "";
          const note = noteOf(point.past.run);
          const lines: [string, string][] = [[name, withUnit(point.value, unit)]];
          if (point.low !== null && point.high !== null) lines.push(["interval", `${inUnit(point.low, unit)} – ${withUnit(point.high, unit)}`]);
          if (note !== undefined) lines.push(["accepted", note]);
          if (!point.past.alike) lines.push(["circumstances", point.past.differences.join("; ")]);
          return tip(`${point.past.run}, ${formatTime(point.past.started_at)}`, lines);
        },
      },
      xAxis: { ...axis(theme, ""), type: "time", ...timeRange(points.map((point) => point.at)), splitLine: { show: false } },
      // Not from 0, or a change would be hidden; not narrower than a fifth, or noise would look like a change.
      yAxis: {
        ...axis(theme, ""),
        type: "value",
        min: (0.9 * Math.min(...points.map((point) => point.low ?? point.value))) / unit.factor,
        max: (1.1 * Math.max(...points.map((point) => point.high ?? point.value))) / unit.factor,
        axisLabel: { color: theme.muted, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => digits(value) },
      },
      series: [
        {
          type: "line",
          symbol: "circle",
          symbolSize: 8,
          color: theme.accent,
          lineStyle: { width: 1.5 },
          data: points.map((point) => ({ value: [point.at, point.value / unit.factor], symbol: point.past.alike ? "circle" : "emptyCircle" })),
          markLine: {
            silent: true,
            symbol: "none",
            label: { color: theme.text, formatter: "{b}" },
            data: changes.map((change) => ({
              name: changeText(change) + (noteOf(change.run) === undefined ? "" : ", accepted"),
              lineStyle: noteOf(change.run) === undefined ? { color: theme.lines[1], type: "dashed" } : { color: theme.muted, type: "dotted" },
              xAxis: points.find((point) => point.past.run === change.run)!.at,
            })),
          },
        },
        {
          type: "custom",
          silent: true,
          encode: { x: 0, y: [1, 2] },
          data: points.flatMap((point) =>
            point.low === null || point.high === null ? [] : [[point.at, point.low / unit.factor, point.high / unit.factor]],
          ),
          renderItem: (_: unknown, api: RenderApi) => {
            const [x, low] = api.coord([api.value(0), api.value(1)]);
            const [, high] = api.coord([api.value(0), api.value(2)]);
            const mark = (x1: number, y1: number, x2: number, y2: number) => ({
              type: "line",
              shape: { x1, y1, x2, y2 },
              style: { stroke: theme.whisker, lineWidth: 1.5 },
            });
            return { type: "group", children: [mark(x, low, x, high), mark(x - 4, low, x + 4, low), mark(x - 4, high, x + 4, high)] };
          },
        },
      ],
    }),
  };
}

/** The metrics that are shown unless the reader chose others. */
const USUAL: Metric[] = ["goodput_per_s", "response_time_ns_p99", "cpu_ns_per_request", "memory_bytes_peak"];

/** Maximum length of a note in the store. */
const MAX_NOTE_LENGTH = 200;

/** A change of the level, and the form that accepts it with a note. */
function ChangeItem(props: { change: ChangePoint; note: string | undefined; accept: ((note: string) => Promise<void>) | null }) {
  const { change, note, accept } = props;
  const [text, setText] = useState<string | null>(null);
  const { busy, refusal, act } = useChange(
    () => accept!(text ?? ""),
    () => setText(null),
  );
  const name = `${metricName(change.metric)} from ${change.run} on`;
  return (
    <li>
      {name}: {changeText(change)}
      {note !== undefined && (
        <>
          , accepted: <q>{note}</q>
        </>
      )}{" "}
      {accept && text === null && (
        <button type="button" class="quiet-button" aria-label={`${note === undefined ? "Accept" : "Edit the note of"} ${name}`} onClick={() => setText(note ?? "")}>
          {note === undefined ? "Accept" : "Edit"}
        </button>
      )}
      {text !== null && (
        <form
          class="act"
          onSubmit={(event) => {
            event.preventDefault();
            void act();
          }}
        >
          <label class="field">
            <span>Why {name} is accepted; empty: it is not</span>
            <input value={text} maxLength={MAX_NOTE_LENGTH} onInput={(event) => setText(event.currentTarget.value)} />
          </label>
          <button type="submit" class="plain-button" disabled={busy}>
            Save
          </button>
          <button type="button" class="plain-button" onClick={() => setText(null)}>
            Cancel
          </button>
          {refusal !== null && <p role="alert">{refusal}</p>}
        </form>
      )}
    </li>
  );
}

interface SectionProps {
  line: HistoryLine;
  metrics: Metric[];
  accepted: AcceptedChange[];
  /** Null if this page may change nothing. */
  accept: ((change: ChangePoint, note: string) => Promise<void>) | null;
}

function HistorySection(props: SectionProps) {
  const { line, metrics, accepted, accept } = props;
  const charts = useMemo(() => metrics.flatMap((metric) => historyChart(line, metric, accepted) ?? []), [line, metrics, accepted]);
  const failed = line.runs.filter((past) => past.excluded !== null);
  const changes = line.changes.filter((change) => metrics.includes(change.metric));
  return (
    <section>
      <h2>
        {line.workload} <span class="kicker">
          · {line.load_text} · {line.target ?? line.suite}
        </span>
      </h2>
      {failed.length > 0 && (
        <ul class="prose">
          {failed.map((past) => (
            <li key={past.run}>
              {past.run}: excluded, {past.excluded}
            </li>
          ))}
        </ul>
      )}
      <div class="chart-grid">
        {charts.map((chart) => (
          <Figure key={chart.id} chart={chart} />
        ))}
      </div>
      {changes.length > 0 && (
        <ul class="prose level-changes" aria-label="Changes of the level">
          {changes.map((change) => (
            <ChangeItem
              key={`${change.metric} ${change.run}`}
              change={change}
              note={accepted.find((one) => one.metric === change.metric && one.run === change.run)?.note}
              accept={accept && ((note) => accept(change, note))}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

/** Which metrics are shown, in the URL. */
function useMetrics(lines: HistoryLine[]) {
  const [params, change] = useParams();
  const known = useMemo(() => METRICS.filter((metric) => lines.some((line) => line.runs.some((past) => past[metric] != null))), [lines]);
  const wanted = params.get("metrics");
  const chosen = useMemo(() => known.filter((metric) => (wanted === null ? USUAL.includes(metric) : wanted.split(",").includes(metric))), [known, wanted]);
  const toggle = (metric: Metric) => {
    const next = chosen.includes(metric) ? chosen.filter((other) => other !== metric) : [...chosen, metric];
    change((params) => params.set("metrics", next.join(",")));
  };
  return { known, chosen, toggle };
}

function Lines(props: { service: ServiceKey; lines: HistoryLine[] }) {
  const { service, lines } = props;
  const { known, chosen, toggle } = useMetrics(lines);
  const [saved, setSaved] = useState(0);
  const query = new URLSearchParams({ ...service }).toString();
  const request = useRequest(() => Promise.all([getJson<AcceptedChange[]>(`/api/changes?${query}`), getJson<Permissions>("/api/rights")]), `${query} ${saved}`);
  const [accepted, permissions] = request.state === "loaded" ? request.value : [NONE, { change: false }];
  const acceptIn = (line: HistoryLine) => async (change: ChangePoint, note: string) => {
    await send("POST", "/api/changes", { ...service, workload: line.workload, load_id: line.load_id, metric: change.metric, run: change.run, note });
    setSaved((before) => before + 1);
  };
  return (
    <>
      <fieldset class="metrics">
        <legend>Metrics</legend>
        {known.map((metric) => (
          <label key={metric}>
            <input type="checkbox" checked={chosen.includes(metric)} onChange={() => toggle(metric)} /> {metricName(metric)}
          </label>
        ))}
      </fieldset>
      {lines.map((line) => (
        <HistorySection
          key={[line.suite, line.target, line.workload, line.load_id].join(" ")}
          line={line}
          metrics={chosen}
          accepted={accepted.filter((one) => one.workload === line.workload && one.load_id === line.load_id)}
          accept={permissions.change ? acceptIn(line) : null}
        />
      ))}
    </>
  );
}

const NONE: AcceptedChange[] = [];

export function History(props: ServiceKey) {
  const { service, variant, contract } = props;
  const query = new URLSearchParams({ service, variant, contract }).toString();
  const request = useRequest(() => getJson<HistoryLine[]>(`/api/history?${query}`), query);
  return (
    <Loaded request={request}>
      {(lines) => (
        <>
          <h1>
            {service}/{variant} <span class="kicker">{contract}</span>
          </h1>
          <p class="quiet">{plural(new Set(lines.flatMap((line) => line.runs.map((past) => past.run))).size, "run")}</p>
          <Lines service={{ service, variant, contract }} lines={lines} />
        </>
      )}
    </Loaded>
  );
}
