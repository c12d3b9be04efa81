// What users take away from a report: heat maps, tables per second, links to rows, text for other documents, and notes on changes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { Report } from "../src/data.ts";
import { Browser, drawAll, eventually, violations } from "./browser.ts";
import { FakeServer } from "./server.ts";
import { synthetic } from "./synthetic.ts";

const served = JSON.parse(readFileSync(new URL("served.json", import.meta.url), "utf8"));
const [BASE, NEW] = ["2026-11-01T08-30-00-sample", "2026-11-08T08-30-00-sample"];
const HISTORY = "/api/history?service=rust-axum&variant=current&contract=hello";
const CHANGES = "/api/changes?service=rust-axum&variant=current&contract=hello";
const WIDTHS = [390, 1400];

let browser: Browser;
let server: FakeServer;

before(async () => {
  [browser, server] = [await Browser.start(), await FakeServer.start()];
  server.answers.set("/api/rights", served.rights);
  server.answers.set(HISTORY, served.history);
  server.answers.set(CHANGES, []);
  server.answers.set(`/api/compare?a=${BASE}&b=${NEW}`, served.compare);
  await browser.context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.address });
});

after(async () => {
  await browser.stop();
  await server.stop();
});

async function fits(page: Page, width: number): Promise<void> {
  await eventually(() => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0);
  assert.ok((await page.evaluate(() => innerWidth)) === width);
  assert.deepEqual(await violations(page), []);
}

async function saved(page: Page, button: Locator): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return readFileSync(await download.path(), "utf8");
}

async function rowsOf(figure: Locator): Promise<string[][]> {
  await figure.locator("summary").click();
  await figure.locator("tbody tr").first().waitFor();
  return (await figure.locator("tr").allInnerTexts()).map((row) => row.split(/\s*\t\s*/));
}

const timeOf = (page: Page): Locator => page.locator("#chart-over-time select");

const small = (): Report => synthetic({ services: 5, contracts: ["hello"] });

for (const width of WIDTHS)
  describe(`at ${width} px`, () => {
    test("response times over time are a heat map", async () => {
      const { page, said } = await browser.open(small(), { width });
      await drawAll(page);
      const figure = page.locator("#chart-heat-map");
      assert.match(await figure.locator("h3").innerText(), /^axum: response times over time, /);
      const svg = await saved(page, figure.getByRole("button", { name: "as SVG" }));
      const cells = [...svg.matchAll(/fill="#?[^"]*"|fill-opacity="([\d.]+)"/g)];
      assert.ok(cells.length > 100, `${cells.length} cells`);
      const [, first] = await rowsOf(figure);
      assert.equal(first!.length, 5);
      await fits(page, width);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("each second of a trial is a row, with its errors", async () => {
      const report = small();
      const { series } = report.groups[0]!.services[0]!.details!;
      series!.intervals.find((one) => one.at_s === 3)!.errors_per_s = 17;
      const { page, said } = await browser.open(report, { width });
      await drawAll(page);
      const figure = page.locator("#chart-over-time");
      const svg = await saved(page, figure.getByRole("button", { name: "as SVG" }));
      assert.match(svg, /Errors, \/s/);
      const [head, ...rows] = await rowsOf(figure);
      const errors = head!.findIndex((one) => one.startsWith("Errors"));
      assert.deepEqual(rows.filter((row) => row[errors] === "17.0").map(([second]) => second), ["3"]);
      assert.equal(rows.length, 14, "four of warm-up and ten of the measurement");
      await fits(page, width);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("a link leads to an open row, and to the service of the chart over time", async () => {
      const { page, said } = await browser.open(small(), { width });
      const row = page.locator('tr[data-service="java-netty/current"]');
      await row.locator(".more button").click();
      await timeOf(page).selectOption("go-nethttp/current");
      await eventually(async () => decodeURIComponent(new URL(page.url()).hash), "#open=java-netty/current&time=go-nethttp/current");
      const link = await page.locator(".permalink a").evaluate((one: HTMLAnchorElement) => one.href);
      const other = await browser.visit(page.url(), { width });
      assert.equal(await other.page.locator(".detail-row").count(), 1);
      assert.equal(await timeOf(other.page).inputValue(), "go-nethttp/current");
      const linked = await browser.visit(link, { width, height: 500 });
      const box = await linked.page.locator('tr[data-service="java-netty/current"]').boundingBox();
      assert.ok(box && box.y >= 0 && box.y < 500, JSON.stringify(box));
      await fits(linked.page, width);
      assert.deepEqual([...said, ...other.said, ...linked.said], []);
      for (const one of [page, other.page, linked.page]) await one.close();
    });

    test("a ranking is copied as Markdown and saved as CSV", async () => {
      const report = small();
      report.services[1]!.title = "a | b";
      server.answers.set(`/api/runs/${report.run}`, report);
      const { page, said } = await browser.visit(`${server.address}/run/${report.run}`, { width });
      await page.getByRole("button", { name: "Copy as Markdown" }).click();
      await page.getByText("Copied").waitFor();
      const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n");
      assert.match(lines[2]!, /^\| Rank \| Service \| /);
      assert.equal(lines.length, 4 + 5);
      assert.match(lines[4]!, /^\| 1 \| axum \| [\d,]+\/s ±/);
      assert.ok(lines.some((line) => line.includes("| a \\| b |")), lines.join("\n"));
      assert.ok(lines.some((line) => line.includes("excluded: ")), lines.join("\n"));
      const csv = await saved(page, page.getByRole("button", { name: "CSV", exact: true }));
      assert.match(csv, /^rank_low,rank_high,service,variant,/);
      assert.match(csv.split("\r\n")[1]!, /^1,1,rust-axum,current,\d+/);
      await fits(page, width);
      assert.deepEqual(said.filter((line) => !line.includes("404")), []);
      await page.close();
    });

    test("two runs are curves over each other", async () => {
      const [base, next] = [small(), small()];
      for (const row of next.groups[0]!.services) for (const point of row.details?.response_time_curve ?? []) point[1] *= 2;
      server.answers.set(`/api/runs/${BASE}`, base);
      server.answers.set(`/api/runs/${NEW}`, next);
      const { page, said } = await browser.visit(`${server.address}/compare?a=${BASE}&b=${NEW}`, { width });
      const figure = page.locator("#chart-percentiles-of-runs");
      await figure.scrollIntoViewIfNeeded();
      await drawAll(page);
      await figure.getByLabel("Service").selectOption({ index: 1 });
      await eventually(async () => new URL(page.url()).hash.startsWith("#curves="), true);
      const [, old, now] = await rowsOf(figure);
      assert.deepEqual([old![0], now![0]], [`Base ${BASE}`, `New ${NEW}`]);
      assert.ok(Math.abs(Number(now![1]) / Number(old![1]) - 2) < 0.05, `${old} ${now}`);
      await fits(page, width);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("a change is accepted with a note, which the history shows", async () => {
      server.changes.length = 0;
      const { page, said } = await browser.visit(`${server.address}/service/rust-axum/current/hello`, { width });
      const change = served.history[0].changes[0];
      const item = page.locator(".level-changes li").first();
      await item.getByRole("button", { name: /^Accept / }).click();
      await item.locator("input").fill("TLS is on since then");
      const accepted = { service: "rust-axum", variant: "current", contract: "hello", workload: "hello", load_id: served.history[0].load_id, metric: change.metric, run: change.run, note: "TLS is on since then" };
      server.answers.set(CHANGES, [accepted]);
      await item.getByRole("button", { name: "Save" }).click();
      await item.getByText("TLS is on since then").waitFor();
      assert.deepEqual(server.changes.map(({ what, origin, body }) => ({ what, origin, body: JSON.parse(body) })), [{ what: "POST /api/changes", origin: server.address, body: accepted }]);
      await drawAll(page);
      const svg = await saved(page, page.locator("#chart-history-goodput_per_s").first().getByRole("button", { name: "as SVG" }));
      assert.match(svg, /, accepted</);
      await fits(page, width);
      server.answers.set(CHANGES, []);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("a history has an axis of time and the chosen metrics", async () => {
      const [line] = structuredClone(served.history);
      // A month without a run.
      line.runs[0].started_at = "2026-10-01T08:30:00Z";
      server.answers.set(HISTORY, [line]);
      const { page, said } = await browser.visit(`${server.address}/service/rust-axum/current/hello`, { width });
      await page.locator("figure.chart").first().waitFor();
      const charts = () => page.locator("figure.chart").evaluateAll((all) => all.map((one) => one.id.replace("chart-history-", "")));
      assert.deepEqual(await charts(), ["goodput_per_s", "response_time_ns_p99", "cpu_ns_per_request", "memory_bytes_peak"]);
      await drawAll(page);
      const svg = await saved(page, page.locator("#chart-history-goodput_per_s").first().getByRole("button", { name: "as SVG" }));
      const places = [...svg.matchAll(/transform="matrix\(4,0,0,4,([\d.]+),/g)].map(([, x]) => Number(x));
      assert.equal(places.length, 8, svg.slice(0, 2000));
      assert.ok(places[1]! - places[0]! > 5 * (places[7]! - places[1]!) / 2, places.join(" "));
      await page.getByRole("checkbox", { name: "Response time, p50" }).check();
      await page.getByRole("checkbox", { name: "Memory, peak" }).uncheck();
      await eventually(charts, ["goodput_per_s", "response_time_ns_p50", "response_time_ns_p99", "cpu_ns_per_request"]);
      await eventually(async () => new URL(page.url()).hash.startsWith("#metrics="), true);
      await fits(page, width);
      server.answers.set(HISTORY, served.history);
      assert.deepEqual(said, []);
      await page.close();
    });
  });
