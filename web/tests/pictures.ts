// All pictures of docs/images, from the pages of a site and from a made-up report: `npm run pictures [SITE [FOLDER]]`, or
// `make pictures`, which first makes the site of results/ in target/site.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Locator, Page } from "playwright-core";
import { isLowerBound, positionOf, type Report } from "../src/data.ts";
import { ownWarnings, levelOf, setMetricTable } from "../src/warnings.ts";
import { Browser, drawAll, eventually, reportIn } from "./browser.ts";
import { PICTURES, pageDigest } from "./digest.ts";
import { FakeServer } from "./server.ts";
import { synthetic } from "./synthetic.ts";

const [site = resolve(import.meta.dirname, "../../target/site"), folder = PICTURES] = process.argv.slice(2);
/** The run that most pictures show: few services, and warnings of several kinds. */
const SUITE = "000-sequence";
const [WIDTH, HEIGHT, MARGIN] = [1280, 980, 16];

const made = synthetic({ services: 9, contracts: ["hello", "sequence"], rates: [10_000, 30_000, 60_000], workloads: ["getPerson", "listPersons", "createPerson"] });
const runs = readdirSync(join(site, "boards")).map((file) => reportIn(join(site, "boards", file)));

function run(what: string, fits: (report: Report) => boolean): Report {
  const found = runs.find(fits);
  if (!found) throw new Error(`no run of ${site} has ${what}: pictures of it are made from results/`);
  return found;
}

const file = (name: string): string => join(folder, `${name}.png`);

/** The page from the top of one element to the end of another, with the width of the page or of both elements. */
async function part(name: string, from: Locator, to: Locator, narrow = false): Promise<void> {
  if ((await from.count()) === 0 || (await to.count()) === 0) throw new Error(`${name}: the page has no such part`);
  // From the top of the page: a heading that stays visible would cover the rows.
  await from.page().evaluate(() => scrollTo(0, 0));
  const [first, last] = [(await from.first().boundingBox())!, (await to.first().boundingBox())!];
  const left = narrow ? Math.max(0, Math.min(first.x, last.x) - MARGIN) : 0;
  const right = narrow ? Math.max(first.x + first.width, last.x + last.width) + MARGIN : WIDTH;
  const top = Math.max(0, first.y - MARGIN);
  const clip = { x: left, y: top, width: right - left, height: last.y + last.height + MARGIN - top };
  await from.page().screenshot({ path: file(name), fullPage: true, clip });
}

const rowsOf = (page: Page) => page.locator(".ranking > tbody > tr[data-service]");

const open = async (report: Report): Promise<Page> => (await browser.open(report, { width: WIDTH, height: HEIGHT })).page;

/** The steps of docs/READING.md, and the first picture of the README. */
async function reading(report: Report): Promise<void> {
  const page = await open(report);
  await page.screenshot({ path: file("report") });
  const ranked = rowsOf(page).filter({ hasNot: page.locator("td.rank .hidden") });
  const figure = (id: string) => page.locator(`#chart-${id}`);
  await part("reading-1-answer", page.locator(".masthead"), page.locator(".answer"));
  await part("reading-2-ranks", ranked.nth(0), ranked.nth(5));
  await part("reading-3-number", ranked.nth(0).locator("td.figure").first(), ranked.nth(0).locator("td.figure").nth(2), true);
  await drawAll(page);
  await part("reading-6-bars", figure("bars-goodput_per_s"), figure("bars-goodput_per_s"));
  await part("reading-7-percentiles", figure("percentiles"), figure("percentiles"), true);
  await part("reading-8-over-time", figure("over-time"), figure("over-time"));
  await part("reading-9-pairs", page.locator("#pairs"), page.locator("section[aria-labelledby=pairs] .scroll"));
  await part("reading-10-duel", page.locator("#duel"), page.locator(".duel"));
  await page.close();
}

/** A row that the generator limited, and the next one. */
async function limit(report: Report): Promise<void> {
  const page = await open(report);
  const row = rowsOf(page).filter({ hasText: "generator’s limit" }).first();
  await part("reading-4-limit", page.locator(".ranking > thead"), row.locator("xpath=following-sibling::tr[@data-service][1]"));
  await page.close();
}

/** A row with a number in doubt, and the reason in its details. */
async function doubt(report: Report): Promise<void> {
  const page = await open(report);
  const row = rowsOf(page).filter({ has: page.locator(".doubted") }).first();
  await row.locator(".more button").click();
  await part("reading-5-doubt", row, page.locator(".detail-row .detail-columns"));
  await page.close();
}

/** Percentiles, density and capacity. */
async function charts(): Promise<void> {
  const page = await open(made);
  await drawAll(page);
  await part("charts", page.locator("#charts"), page.locator("#chart-capacity"));
  await page.close();
}

/** The response times of a trial over time. */
async function heat(): Promise<void> {
  const page = await open(made);
  await drawAll(page);
  await part("heat-map", page.locator("#chart-heat-map"), page.locator("#chart-heat-map"), true);
  await page.close();
}

/** The same service in two runs: the second is slower, most of all in its tail. */
async function overlay(): Promise<void> {
  const server = await FakeServer.start();
  const compared = JSON.parse(readFileSync(new URL("served.json", import.meta.url), "utf8")).compare;
  const slower = structuredClone(made);
  for (const group of slower.groups) for (const row of group.services) for (const point of row.details?.response_time_curve ?? []) point[1] *= 1.2 + point[0] ** 40;
  const [base, next] = [compared.base.id, compared.new.id];
  server.answers.set(`/api/compare?a=${base}&b=${next}`, compared);
  server.answers.set(`/api/runs/${base}`, made);
  server.answers.set(`/api/runs/${next}`, slower);
  const { page } = await browser.visit(`${server.address}/compare?a=${base}&b=${next}`, { width: WIDTH, height: HEIGHT });
  const figure = page.locator("#chart-percentiles-of-runs");
  await figure.waitFor();
  await drawAll(page);
  await part("runs", figure, figure, true);
  await page.close();
  await server.stop();
}

/** A run in progress. */
async function live(report: Report): Promise<void> {
  const server = await FakeServer.start();
  const trials = Math.floor(report.planned_trials / 3);
  server.answers.set(`/api/runs/${report.run}`, { ...report, state: "running", ended_at: null, trials });
  const { page } = await browser.visit(`${server.address}/run/${report.run}`, { width: WIDTH, height: 760 });
  await eventually(async () => server.listening, 1);
  const first = report.groups[0]!.services[0]!;
  const [rate, p99] = [positionOf(first.throughput_per_s)!, positionOf(first.response_time_ns_p99)!];
  for (let second = 0; second < 40; second += 1) {
    const progress = {
      at: `2026-11-21T08:30:${second}Z`,
      done: 0,
      planned: report.planned_trials,
      eta_s: 190,
      service: { service: first.service, variant: first.variant },
      contract: report.groups[0]!.contract,
      workload: null,
      step: null,
      phase: "measurement",
      throughput_per_s: rate * (1 + 0.015 * Math.sin(second * 1.7) - 0.3 * Math.exp(-second / 4)),
      response_time_ns_p99: p99 * (1 + 0.08 * Math.cos(second * 2.3) + 0.8 * Math.exp(-second / 4)),
    };
    server.tell({ running: true, trials, sequence: 1, progress });
    // The page adds one point to its lines for each event that it has drawn.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  }
  await page.locator(".spark").first().waitFor();
  await page.screenshot({ path: file("live") });
  await page.close();
  await server.stop();
}

mkdirSync(folder, { recursive: true });
const browser = await Browser.start();
try {
  await reading(run(`the suite ${SUITE}`, (report) => report.suite === SUITE));
  await limit(run("a lower bound", ({ groups: [group] }) => group!.services.some((row) => isLowerBound(row, group!.ranked_by))));
  await doubt(
    run("a row in doubt", (report) => {
      setMetricTable(report.metrics);
      const group = report.groups[0]!;
      return report.suite === SUITE && group.services.some((row) => ownWarnings(group, row).some((warning) => levelOf(warning) !== "note"));
    }),
  );
  await charts();
  await heat();
  await overlay();
  await live(made);
  const { page } = await browser.visit(pathToFileURL(resolve(site, "index.html")).href, { width: WIDTH, height: 900 });
  await page.screenshot({ path: file("site") });
} finally {
  await browser.stop();
}
writeFileSync(join(folder, "page.sha256"), `${pageDigest()}\n`);
