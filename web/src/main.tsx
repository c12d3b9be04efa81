// Entry point: a page with an embedded report shows it; a served page requests data from its server.

import { render } from "preact";
import { embeddedReport } from "./data.ts";
import { Served } from "./served/served.tsx";
import { ReportPage, Shell } from "./parts/page.tsx";
import "./palette.css";
import "./style.css";

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
