// One service over all runs.

import { useMemo } from "preact/hooks";
import { axis, base, tip, tooltip, type Chart, type Hovered, type RenderApi } from "../charts/chart.ts";
import { isEstimate, positionOf } from "../data.ts";
import { digits, inUnit, plural, ratio, unitFor, when, withUnit } from "../format.ts";
import { METRIC, metricName, toBase } from "../metrics.ts";
import { Figure } from "../parts/figure.tsx";
import { ask, Shown, useAnswer, type Line, type Past } from "./api.tsx";

type Followed = "goodput_per_s" | "response_time_ns_p99" | "cpu_ns_per_request" | "memory_bytes_peak";

/** One metric over all runs, each with its interval. */
function overRuns(line: Line, metric: Followed): Chart | null {
  const known = line.runs.flatMap((past: Past) => {
    const quantity = past[metric];
    const position = positionOf(quantity);
    if (position === null || quantity == null) return [];
    const estimate = isEstimate(quantity) ? quantity : null;
    return [{ past, value: toBase(metric, position), low: estimate?.low ?? null, high: estimate?.high ?? null }];
  });
  if (known.length === 0) return null;
  const { dimension, better } = METRIC[metric];
  const unit = unitFor(dimension, known.map((one) => one.value));
  const changes = line.changes.filter((change) => change.metric === metric && known.some((one) => one.past.run === change.run));
  const name = metricName(metric);
  return {
    id: `history-${metric}`,
    title: `${name}, ${unit.symbol}, run by run`,
    reading: `${better === "lower" ? "Lower" : "Higher"} is better. Each point is a run with its confidence interval${changes.length > 0 ? "; a dashed line marks where the level changed" : ""}.`,
    height: 280,
    table: {
      head: ["Run", "Started", `${name}, ${unit.symbol}`, "low", "high"],
      rows: known.map((one) => [
        one.past.run,
        when(one.past.started_at),
        inUnit(one.value, unit),
        one.low === null ? "one trial" : inUnit(one.low, unit),
        one.high === null ? "one trial" : inUnit(one.high, unit),
      ]),
    },
    option: (theme) => ({
      ...base(theme),
      grid: { left: 72, right: 20, top: 26, bottom: 32 },
      tooltip: {
        ...tooltip(theme),
        trigger: "axis",
        formatter: (hovered: Hovered[]) => {
          const one = known[hovered[0]?.dataIndex ?? 0];
          if (!one) return "";
          const lines: [string, string][] = [[name, withUnit(one.value, unit)]];
          if (one.low !== null && one.high !== null) lines.push(["interval", `${inUnit(one.low, unit)} – ${withUnit(one.high, unit)}`]);
          return tip(one.past.run, lines);
        },
      },
      xAxis: { ...axis(theme, ""), type: "category", data: known.map((one) => when(one.past.started_at)), boundaryGap: true },
      // Not from 0, or a change would be hidden; not narrower than a fifth, or noise would look like a change.
      yAxis: {
        ...axis(theme, ""),
        type: "value",
        min: (0.9 * Math.min(...known.map((one) => one.low ?? one.value))) / unit.factor,
        max: (1.1 * Math.max(...known.map((one) => one.high ?? one.value))) / unit.factor,
        axisLabel: { color: theme.muted, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => digits(value) },
      },
      series: [
        {
          type: "line",
          symbol: "circle",
          symbolSize: 8,
          color: theme.accent,
          lineStyle: { width: 1.5 },
          data: known.map((one) => one.value / unit.factor),
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color: theme.lines[1], type: "dashed" },
            label: { color: theme.text, formatter: "{b}" },
            data: changes.map((change) => ({
              name: change.ratio ? `× ${ratio(change.ratio.low)}–${ratio(change.ratio.high)}` : "changed",
              xAxis: known.findIndex((one) => one.past.run === change.run),
            })),
          },
        },
        {
          type: "custom",
          silent: true,
          encode: { x: 0, y: [1, 2] },
          data: known.flatMap((one, index) =>
            one.low === null || one.high === null ? [] : [[index, one.low / unit.factor, one.high / unit.factor]],
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

const FOLLOWED: Followed[] = ["goodput_per_s", "response_time_ns_p99", "cpu_ns_per_request", "memory_bytes_peak"];

function LineOfRuns(props: { line: Line }) {
  const { line } = props;
  const charts = useMemo(() => FOLLOWED.flatMap((metric) => overRuns(line, metric) ?? []), [line]);
  const failed = line.runs.filter((past) => past.excluded !== null);
  return (
    <section>
      <h2>
        {line.workload} <span class="kicker">· {line.load_text}</span>
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
  const asked = new URLSearchParams(props).toString();
  const answer = useAnswer(() => ask<Line[]>(`/api/history?${asked}`), asked);
  return (
    <Shown answer={answer}>
      {(lines) => (
        <>
          <h1>
            {props.service}/{props.variant} <span class="kicker">{props.contract}</span>
          </h1>
          <p class="quiet">{plural(new Set(lines.flatMap((line) => line.runs.map((past) => past.run))).size, "run")}</p>
          {lines.map((line) => (
            <LineOfRuns key={`${line.workload} ${line.load_text}`} line={line} />
          ))}
        </>
      )}
    </Shown>
  );
}
