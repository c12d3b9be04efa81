// Pictures of the main views: `npm run screenshots [PAGE.html [FOLDER]]`, from a page that prony wrote, or from a
// made-up report. The default folder is docs/images.

import { mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { positionOf, type Report } from "../src/data.ts";
import { Browser, drawAll, eventually, reportIn } from "./browser.ts";
import { FakeServer } from "./server.ts";
import { synthetic } from "./synthetic.ts";

const [file, folder] = process.argv.slice(2);
const OUT = folder ? `${folder}/` : fileURLToPath(new URL("../../docs/images/", import.meta.url));
const made = synthetic({ services: 9, contracts: ["hello", "sequence"], rates: [10_000, 30_000, 60_000], workloads: ["getPerson", "listPersons", "createPerson"] });
const report: Report = file ? reportIn(file) : made;

mkdirSync(OUT, { recursive: true });
const browser = await Browser.start();

const save = async (page: Page, name: string, height?: number) => {
  const width = page.viewportSize()?.width ?? 1280;
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${OUT}${name}.png`, ...(height && { clip: { x: 0, y: 0, width, height }, fullPage: true }) });
};

/** The part of the page from one element to the end of another. */
const part = async (page: Page, name: string, from: string, to: string) => {
  const top = await page.locator(from).evaluate((one) => one.getBoundingClientRect().top + scrollY - 24);
  const bottom = await page.locator(to).evaluate((one) => one.getBoundingClientRect().bottom + scrollY + 16);
  await page.screenshot({ path: `${OUT}${name}.png`, fullPage: true, clip: { x: 0, y: top, width: 1280, height: bottom - top } });
};

const light = await browser.open(report, { width: 1280, height: 980 });
await drawAll(light.page);
await save(light.page, "report");
const has = async (what: string): Promise<boolean> => (await light.page.locator(what).count()) > 0;
await part(light.page, "charts", "#charts", (await has("#chart-capacity")) ? "#chart-capacity" : "#chart-density");
// A run with a single round or a single service has no pairs.
if (await has("#pairs")) await part(light.page, "pairs", "#pairs", "section[aria-labelledby=pairs]");
await light.page.close();

const dark = await browser.open(report, { dark: true, width: 1280, height: 980 });
await drawAll(dark.page);
await save(dark.page, "report-dark");
await dark.page.close();

const phone = await browser.open(report, { width: 380, height: 800 });
await save(phone.page, "report-phone");
await phone.page.close();

const server = await FakeServer.start();
const running = { ...report, state: "running", ended_at: null, trials: Math.floor(report.planned_trials / 3) };
server.answers.set(`/api/runs/${report.run}`, running);
const live = await browser.visit(`${server.address}/run/${report.run}`, { width: 1280, height: 760 });
await eventually(async () => server.listening, 1);
const first = report.groups[0]?.services[0];
const rate = positionOf(first?.throughput_per_s) ?? 60_000;
const p99 = positionOf(first?.response_time_ns_p99) ?? 2.4e6;
for (let second = 0; second < 40; second += 1) {
  server.tell({
    running: true,
    trials: Math.floor(report.planned_trials / 3),
    sequence: 1,
    progress: {
      at: `2026-11-21T08:30:${second}Z`,
      done: 0,
      planned: report.planned_trials,
      eta_s: 190,
      service: first ? { service: first.service, variant: first.variant } : null,
      contract: report.groups[0]?.contract ?? null,
      workload: null,
      step: null,
      phase: "measurement",
      throughput_per_s: rate * (1 + 0.015 * Math.sin(second * 1.7) - 0.3 * Math.exp(-second / 4)),
      response_time_ns_p99: p99 * (1 + 0.08 * Math.cos(second * 2.3) + 0.8 * Math.exp(-second / 4)),
    },
  });
  await new Promise((done) => setTimeout(done, 25));
}
await live.page.locator(".spark").first().waitFor();
await save(live.page, "live");
await live.page.close();

const served = JSON.parse(readFileSync(new URL("served.json", import.meta.url), "utf8"));
server.answers.set("/api/history?service=rust-axum&variant=current&contract=hello", served.history);
const history = await browser.visit(`${server.address}/service/rust-axum/current/hello`, { width: 1280, height: 860 });
await drawAll(history.page);
await save(history.page, "history");
const [base, latest] = ["2026-11-01T08-30-00-sample", "2026-11-08T08-30-00-sample"];
server.answers.set(`/api/compare?a=${base}&b=${latest}`, served.compare);
const comparison = await browser.visit(`${server.address}/compare?a=${base}&b=${latest}`, { width: 1280, height: 860 });
await comparison.page.locator(".changes").first().waitFor();
await save(comparison.page, "compare");
await browser.stop();
await server.stop();
