// Entry point: a page with an embedded report shows it; a served page requests data from its server.

import { render } from "preact";
import { embeddedReport } from "./data.ts";
import { ReportPage, Shell } from "./parts/page.tsx";
import { Comparison } from "./served/compare.tsx";
import { History } from "./served/history.tsx";
import { LiveRun } from "./served/live.tsx";
import { Runs } from "./served/runs.tsx";
import "./palette.css";
import "./style.css";

/** The parts of a path; none if it is not text. */
function partsOf(path: string): string[] {
  try {
    return path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return ["unknown"];
  }
}

function NotFound() {
  return (
    <>
      <h1>This page does not exist</h1>
      <p role="alert">There is nothing at {location.pathname}.</p>
    </>
  );
}

/** A served page, chosen by its URL. */
function Served() {
  const { pathname, search } = location;
  const [kind, ...rest] = partsOf(pathname);
  const query = new URLSearchParams(search);
  let title = "Runs";
  let body = <Runs />;
  if (kind === "run" && rest[0]) {
    title = rest[0];
    body = <LiveRun run={rest[0]} />;
  } else if (kind === "compare") {
    title = "Comparison";
    body = <Comparison a={query.get("a") ?? ""} b={query.get("b") ?? ""} />;
  } else if (kind === "service" && rest.length === 3) {
    title = rest[0]!;
    body = <History service={rest[0]!} variant={rest[1]!} contract={rest[2]!} />;
  } else if (kind) {
    title = "Not found";
    body = <NotFound />;
  }
  const back = kind ? (
    <nav aria-label="prony">
      <a href="/">Runs</a>
    </nav>
  ) : null;
  return (
    <Shell title={title} back={back}>
      {body}
    </Shell>
  );
}

const root = document.getElementById("app")!;
const report = await embeddedReport();
if (report) {
  const back = report.site && (
    <nav aria-label="Site">
      <a href={report.site.home}>All rankings</a>
    </nav>
  );
  render(
    <Shell title={report.suite} back={back}>
      <ReportPage report={report} />
    </Shell>,
    root,
  );
} else {
  render(<Served />, root);
}
