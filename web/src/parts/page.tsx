// The report as a page: the answer first, then the ranking, the charts, the pairs, the checks, and how it was measured.

import type { ComponentChildren } from "preact";
import { useCallback, useContext, useEffect, useMemo, useState } from "preact/hooks";
import { Services, type Group, type Report, type Row } from "../data.ts";
import { formatDuration, formatTime, nonBreaking, plural } from "../format.ts";
import { applyChoice, onSystemChange, PrintContext, showMode, storedChoice, ThemeContext, themeOf, type Choice } from "../theme.ts";
import { groupKey, useView, type View } from "../view.ts";
import { setMetricTable } from "../warnings.ts";
import { Charts } from "./charts.tsx";
import { Checks } from "./checks.tsx";
import { originOf } from "./details.tsx";
import { Prose, Warnings } from "./elements.tsx";
import { Filters, matchesFilter } from "./filters.tsx";
import { Method } from "./method.tsx";
import { Pairs, SideBySide } from "./pairs.tsx";
import { Published } from "./published.tsx";
import { Ranking, sortRows } from "./ranking.tsx";

/** Skips to the report without changing the URL, which holds the view. */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** The frame of every page: theme, skip link, footer. */
export function Shell(props: { title: string; back?: ComponentChildren; children: ComponentChildren }) {
  const [choice, setChoice] = useState<Choice>(storedChoice);
  const [mode, setMode] = useState(() => applyChoice(choice));
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const apply = () => setMode(applyChoice(choice));
    apply();
    return onSystemChange(apply);
  }, [choice]);
  useEffect(() => {
    const print = () => {
      showMode("light");
      setPrinting(true);
    };
    const after = () => {
      applyChoice(choice);
      setPrinting(false);
    };
    addEventListener("beforeprint", print);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", print);
      removeEventListener("afterprint", after);
    };
  }, [choice]);
  useEffect(() => {
    document.title = `${props.title} – prony`;
  }, [props.title]);
  return (
    <PrintContext.Provider value={printing}>
      <ThemeContext.Provider value={themeOf(printing ? "light" : mode)}>
        <a class="skip" href="#main" onClick={skipToMain}>
          Skip to the report
        </a>
        <header class="bar">
          <div class="bar-inner">
            <span class="mark">prony</span>
            {props.back}
            <label class="theme">
              <span class="quiet">Colours</span>
              <select value={choice} onChange={(event) => setChoice(event.currentTarget.value as Choice)}>
                <option value="auto">as the system</option>
                <option value="light">light</option>
                <option value="dark">dark</option>
              </select>
            </label>
          </div>
        </header>
        <main id="main" tabIndex={-1}>
          {props.children}
        </main>
      </ThemeContext.Provider>
    </PrintContext.Provider>
  );
}

/** The suite, the facts of the run, and what concerns all groups. */
function Masthead(props: { report: Report }) {
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

const groupName = (group: Group, groups: Group[]): string => {
  const parts = [group.contract];
  if (group.workload !== group.contract) parts.push(group.workload);
  const loads = new Set(groups.filter((other) => other.contract === group.contract && other.workload === group.workload).map((other) => other.load_text));
  if (loads.size > 1) parts.push(group.load_text);
  return parts.join(" · ");
};

/** Tabs for a few groups, a list for many. */
function GroupChoice(props: { groups: Group[]; chosen: number; choose: (index: number) => void }) {
  const { groups, chosen, choose } = props;
  if (groups.length < 2) return null;
  if (groups.length > 6) {
    return (
      <label class="field group-list">
        <span>Contract, workload and load</span>
        <select value={chosen} onChange={(event) => choose(Number(event.currentTarget.value))}>
          {groups.map((group, index) => (
            <option key={index} value={index}>
              {groupName(group, groups)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <fieldset class="tabs">
      <legend class="hidden">Contract, workload and load</legend>
      {groups.map((group, index) => (
        <label key={index} class={index === chosen ? "chosen" : ""}>
          <input type="radio" name="group" value={index} checked={index === chosen} onChange={() => choose(index)} />
          {groupName(group, groups)}
        </label>
      ))}
    </fieldset>
  );
}

/** The result of a group in a sentence. */
function Finding(props: { group: Group }) {
  const { group } = props;
  return (
    <div class="answer" role="note" aria-label="The result in a sentence">
      <p>
        <Prose text={nonBreaking(group.finding)} />
      </p>
      <p class="quiet">{group.load_text}</p>
      {group.ceiling_text && <p class="quiet">{group.ceiling_text}</p>}
      <Warnings warnings={group.warnings} />
    </div>
  );
}

/** The same value one frame later: the table responds to a click at once, the charts follow. */
function useAfterPaint<T>(value: T): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const frame = requestAnimationFrame(() => setTimeout(() => setLater(value)));
    return () => cancelAnimationFrame(frame);
  }, [value]);
  return later;
}

/** One ranking with its charts and comparisons. */
function GroupReport(props: { report: Report; group: Group; services: Services; view: View; change: (part: Partial<View> | ((before: View) => Partial<View>)) => void }) {
  const { report, group, services, view, change } = props;
  const { filter, sort } = view;
  const origin = useMemo(() => originOf(report), [report]);
  const rows: Row[] = useMemo(
    () => sortRows(group.services.filter((row) => matchesFilter(row, filter, services)), sort, services),
    [group, filter, sort, services],
  );
  const chartRows = useAfterPaint(rows);
  const toggle = useCallback((id: string) => change(({ open }) => ({ open: open.includes(id) ? open.filter((other) => other !== id) : [...open, id] })), [change]);
  return (
    <>
      <Finding group={group} />
      <section aria-labelledby="ranking">
        <h2 id="ranking">Ranking</h2>
        <Filters rows={group.services} services={services} filter={filter} change={(filter) => change({ filter })} shown={rows.length} />
        <Ranking group={group} rows={rows} services={services} sort={sort} change={(sort) => change({ sort })} confidence={report.confidence} origin={origin} open={view.open} toggle={toggle} />
      </section>
      <Charts report={report} group={group} rows={chartRows} services={services} metric={view.metric} choose={(metric) => change({ metric })} time={view.time} chooseTime={(time) => change({ time })} />
      <Pairs group={group} rows={chartRows} services={services} confidence={report.confidence} />
      <SideBySide group={group} services={services} confidence={report.confidence} pair={view.pair} change={(pair) => change({ pair })} />
      <Published report={report} group={group} services={services} />
    </>
  );
}

export function ReportPage(props: { report: Report }) {
  const { report } = props;
  setMetricTable(report.metrics);
  const services = useMemo(() => new Services(report.services, report.site?.services), [report.services, report.site]);
  const [view, change] = useView();
  const printing = useContext(PrintContext);
  const group = report.groups.find((one) => groupKey(one) === view.group) ?? report.groups[0];
  const choose = (index: number) => change({ group: index === 0 ? "" : groupKey(report.groups[index]!) });
  // Paper has no tabs: it shows the chosen group first, and then the others.
  const others = printing ? report.groups.filter((other) => other !== group) : [];
  const name = (one: Group) => printing && report.groups.length > 1 && <h2 class="group-name">{groupName(one, report.groups)}</h2>;
  return (
    <>
      <Masthead report={report} />
      {group ? (
        <>
          <GroupChoice groups={report.groups} chosen={report.groups.indexOf(group)} choose={choose} />
          {name(group)}
          <GroupReport report={report} group={group} services={services} view={view} change={change} />
        </>
      ) : (
        <p class="answer">No trial has ended yet.</p>
      )}
      {others.map((other) => (
        <section key={groupKey(other)} class="printed-group">
          {name(other)}
          <GroupReport report={report} group={other} services={services} view={view} change={change} />
        </section>
      ))}
      {report.checks && <Checks checks={report.checks.services} services={services} />}
      <Method report={report} />
    </>
  );
}
