// One service over all runs.

import { useMemo } from "preact/hooks";
import { overRuns, type Followed } from "../charts/history.ts";
import { plural } from "../format.ts";
import { Figure } from "../parts/figure.tsx";
import { ask, type Line } from "./api.ts";
import { Shown, useAnswer } from "./served.tsx";

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
