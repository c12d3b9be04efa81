// One service over all runs.

import { useMemo } from "preact/hooks";
import { axis, base, tip, tooltip, type Chart, type Hovered, type RenderApi } from "../charts/chart.ts";
import { hasNoBound, isEstimate, positionOf } from "../data.ts";
import { digits, formatTime, inUnit, plural, ratio, unitFor, withUnit } from "../format.ts";
import { METRIC, metricName, toBaseUnit } from "../metrics.ts";
import { Figure } from "../parts/figure.tsx";
import { getJson, Loaded, useRequest, type HistoryLine, type HistoryPoint } from "./api.tsx";

type HistoryMetric = "goodput_per_s" | "response_time_ns_p99" | "cpu_ns_per_request" | "memory_bytes_peak";

/** One metric over all runs, each with its interval. */
function historyChart(line: HistoryLine, metric: HistoryMetric): Chart | null {
  const points = line.runs.flatMap((past: HistoryPoint) => {
    const quantity = past[metric];
    const position = positionOf(quantity);
    if (position === null || quantity == null) return [];
    const estimate = isEstimate(quantity) ? quantity : null;
    return [{ past, value: toBaseUnit(metric, position), low: estimate?.low ?? null, high: estimate?.high ?? null }];
  });
  if (points.length === 0) return null;
  const { dimension, better } = METRIC[metric];
  const unit = unitFor(dimension, points.map((point) => point.value));
  const changes = line.changes.filter((change) => change.metric === metric && points.some((point) => point.past.run === change.run));
  const name = metricName(metric);
  const other = points.some((point) => !point.past.alike);
  const unbounded = line.runs.filter((past) => hasNoBound(past[metric])).map((past) => past.run);
  return {
    id: `history-${metric}`,
    title: `${name}, ${unit.symbol}, run by run`,
    reading: `${better === "lower" ? "Lower" : "Higher"} is better. Each point is a run with its confidence interval${changes.length > 0 ? "; a dashed line marks where the level changed" : ""}.${other ? " Runs with a hollow point were made in other circumstances than the newest one; the search for changes leaves them out." : ""}${unbounded.length > 0 ? ` No bound: ${unbounded.join(", ")}.` : ""}`,
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
          const lines: [string, string][] = [[name, withUnit(point.value, unit)]];
          if (point.low !== null && point.high !== null) lines.push(["interval", `${inUnit(point.low, unit)} – ${withUnit(point.high, unit)}`]);
          if (!point.past.alike) lines.push(["circumstances", point.past.differences.join("; ")]);
          return tip(point.past.run, lines);
        },
      },
      xAxis: { ...axis(theme, ""), type: "category", data: points.map((point) => formatTime(point.past.started_at)), boundaryGap: true },
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
          data: points.map((point) => ({ value: point.value / unit.factor, symbol: point.past.alike ? "circle" : "emptyCircle" })),
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color: theme.lines[1], type: "dashed" },
            label: { color: theme.text, formatter: "{b}" },
            data: changes.map((change) => ({
              name: change.ratio ? `× ${ratio(change.ratio.low)}–${ratio(change.ratio.high)}` : "changed",
              xAxis: points.findIndex((point) => point.past.run === change.run),
            })),
          },
        },
        {
          type: "custom",
          silent: true,
          encode: { x: 0, y: [1, 2] },
          data: points.flatMap((point, index) =>
            point.low === null || point.high === null ? [] : [[index, point.low / unit.factor, point.high / unit.factor]],
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

const HISTORY_METRICS: HistoryMetric[] = ["goodput_per_s", "response_time_ns_p99", "cpu_ns_per_request", "memory_bytes_peak"];

function HistorySection(props: { line: HistoryLine }) {
  const { line } = props;
  const charts = useMemo(() => HISTORY_METRICS.flatMap((metric) => historyChart(line, metric) ?? []), [line]);
  const failed = line.runs.filter((past) => past.excluded !== null);
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
    </section>
  );
}

export function History(props: { service: string; variant: string; contract: string }) {
  const query = new URLSearchParams(props).toString();
  const request = useRequest(() => getJson<HistoryLine[]>(`/api/history?${query}`), query);
  return (
    <Loaded request={request}>
      {(lines) => (
        <>
          <h1>
            {props.service}/{props.variant} <span class="kicker">{props.contract}</span>
          </h1>
          <p class="quiet">{plural(new Set(lines.flatMap((line) => line.runs.map((past) => past.run))).size, "run")}</p>
          {lines.map((line) => (
            <HistorySection key={[line.suite, line.target, line.workload, line.load_id].join(" ")} line={line} />
          ))}
        </>
      )}
    </Loaded>
  );
}
