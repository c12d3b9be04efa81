// Begins here: a page with a report inside shows it; a served page asks its server.

import { render } from "preact";
import { embeddedReport } from "./data.ts";
import { Served } from "./served/served.tsx";
import { ReportPage, Shell } from "./parts/page.tsx";
import "./style.css";

const root = document.getElementById("app")!;
const report = await embeddedReport();
if (report) {
  render(
    <Shell title={report.suite}>
      <ReportPage report={report} />
    </Shell>,
    root,
  );
} else {
  render(<Served />, root);
}
