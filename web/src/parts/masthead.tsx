// The suite, the facts of the run, and its result in a sentence.

import type { Group, Report } from "../data.ts";
import { formatDuration, formatTime, nonBreaking, plural } from "../format.ts";
import { Warnings } from "./elements.tsx";

export function Masthead(props: { report: Report }) {
  const { report } = props;
  const cpu = report.environment.cpu;
  const hosts = Object.entries(report.environment.hosts ?? {});
  const services = new Set(report.groups.flatMap((group) => group.services.map((row) => `${row.service}/${row.variant}`)));
  const duration_s = report.ended_at ? (Date.parse(report.ended_at) - Date.parse(report.started_at)) / 1000 : null;
  const facts = [
    formatTime(report.started_at) + (duration_s === null ? "" : `, ${formatDuration(duration_s)}`),
    plural(services.size, "service"),
    `${report.trials} of ${plural(report.planned_trials, "trial")}`,
    `${cpu.model ?? "unknown CPU"}, ${plural(cpu.online, "CPU")}`,
    ...(hosts.length > 0 ? [`${plural(hosts.length, "host")}: ${hosts.map(([name, host]) => `${name} (${host.roles.join(" and ")})`).join(", ")}`] : []),
  ];
  return (
    <header class="masthead">
      <h1>
        <span class="kicker">Suite</span> {report.label ? `${report.suite}: ${report.label}` : report.suite}
      </h1>
      <p class="facts">
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {report.state !== "ended" && <span class="state">{report.state}</span>}
      </p>
      <Warnings warnings={report.warnings} />
    </header>
  );
}

export function Finding(props: { group: Group }) {
  const { group } = props;
  return (
    <div class="answer" role="note" aria-label="The result in a sentence">
      <p>{nonBreaking(group.finding)}</p>
      <p class="quiet">{group.load_text}</p>
      {group.ceiling_text && <p class="quiet">{group.ceiling_text}</p>}
      <Warnings warnings={group.warnings} />
    </div>
  );
}
