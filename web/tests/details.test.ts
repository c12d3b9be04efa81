// The details of a row beyond its estimates: messages of streams over time and in each trial, and backing services.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { positionOf, type Messages, type Report, type Times, type TrialPoint } from "../src/data.ts";
import { Browser, drawAll, violations } from "./browser.ts";
import { synthetic } from "./synthetic.ts";

const WIDTHS = [360, 800, 1600];
const EACH = 20;

let browser: Browser;

before(async () => {
  browser = await Browser.start();
});

after(() => browser.stop());

const times = (p50: number): Times => ({ p50, p99: 4 * p50, max: 9 * p50 });

/** The same report with replies that are streams of `EACH` messages; the first service loses some of them. */
function ofStreams(report: Report, llm = false): Report {
  for (const group of report.groups) {
    group.services.forEach((row, place) => {
      if (row.details === null) return;
      const rate = EACH * positionOf(row.throughput_per_s)!;
      row.messages_per_s = { point: rate, low: 0.98 * rate, high: 1.02 * rate };
      row.first_message_ns_p50 = { point: 2e6, low: 1.9e6, high: 2.1e6 };
      row.first_message_ns_p99 = { point: 8e6, low: 7e6, high: 9e6 };
      for (const interval of row.details.series?.intervals ?? []) interval.messages_per_s = EACH * interval.throughput_per_s;
      row.details.points.forEach((point: TrialPoint, round) => {
        const messages: Messages = {
          received: 1_234_567 + round,
          first_ns: times(2e6),
          last_ns: times(2e8),
          gap_ns: times(5e6),
          streams: { ended_early: 0, cut: 3 },
          ids: { missing: place === 0 ? 7 : 0, doubled: 0, late: 0 },
        };
        point.messages = llm ? { ...messages, llm: { ttft_ns: times(3e7), tpot_ns: times(1.5e7), usage: { per_s: 4321 } } } : messages;
      });
    });
  }
  return report;
}

const fits = async (page: Page, width: number): Promise<void> => {
  const needed = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(needed <= width, `the page is ${needed} px wide, and the screen ${width}`);
};

const heads = (page: Page, label: RegExp): Promise<string[]> => page.getByRole("region", { name: label }).locator("thead th").allInnerTexts();

const open = (page: Page, service: string) => page.locator(`tr[data-service="${service}"] .more button`).click();

for (const width of WIDTHS) {
  describe(`at ${width} px`, () => {
    test("messages of streams are drawn over time as requests are", async () => {
      const { page, said } = await browser.open(ofStreams(synthetic({ services: 4, contracts: ["events"] })), { width });
      await drawAll(page);
      for (const id of ["over-time", "over-each-other"]) {
        const figure = page.locator(`#chart-${id}`);
        const [download] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: "as SVG" }).click()]);
        const drawn = readFileSync(await download.path(), "utf8");
        for (const track of ["Throughput, /s", "Messages, /s", "p99, ", "CPU, ", "Memory, "]) assert.ok(drawn.includes(track), `${id}: ${track}`);
        await figure.locator("summary").click();
        await figure.locator("tbody tr").first().waitFor();
        const rows = await figure.locator("tbody tr").allInnerTexts();
        // 20 times as many messages as streams, in the table too.
        if (id === "over-time") {
          const columns = (await figure.locator("thead th").allInnerTexts()).map((head) => head.split(",")[0]);
          const [throughput, messages] = ["Throughput", "Messages"].map((name) => columns.indexOf(name));
          const cells = rows.at(-1)!.split(/\s*\t\s*/).map((cell) => Number(cell.replaceAll(",", "")));
          assert.ok(Math.abs(cells[messages!]! / cells[throughput!]! - 20) < 0.1, rows.at(-1));
        } else
          assert.ok(rows.some((row) => /Messages\s+[\d,]+\/s – [\d,]+\/s\s+1,[\d,]+\/s – [\d,]{9,}\/s/.test(row)), rows.join(" | "));
      }
      await fits(page, width);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("a row has the first message and the gaps of each trial", async () => {
      const { page, said } = await browser.open(ofStreams(synthetic({ services: 4, contracts: ["events"] })), { width });
      await open(page, "rust-axum/current");
      const usual = ["Round", "Messages", "First, p50", "First, p99", "Gap, p50", "Gap, p99", "Longest gap", "Last, p50", "Last, p99"];
      const streams = page.getByRole("region", { name: /^Streams of rust-axum/ });
      // Faults are shown only where they occurred.
      assert.deepEqual(await heads(page, /^Streams of rust-axum/), [...usual, "Missing"]);
      const first = (await streams.locator("tbody tr").first().innerText()).split(/\s*\t\s*/);
      assert.deepEqual(first, ["1", "1,234,567", "2.00 ms", "8.00 ms", "5.00 ms", "20.0 ms", "45.0 ms", "200 ms", "800 ms", "7"]);
      assert.equal(await streams.locator("tbody tr").count(), 5);
      const columns = await page.locator(".ranking > thead th.figure").allInnerTexts();
      // A phone has space for the ranked metric only.
      assert.ok(width === 360 ? columns.length === 1 : columns.some((head) => head.startsWith("Messages")) && columns.length <= 7, columns.join(" | "));
      await open(page, "go-nethttp/current");
      assert.deepEqual(await heads(page, /^Streams of go-nethttp/), usual);
      await fits(page, width);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("a row of a language model has its tokens", async () => {
      const { page, said } = await browser.open(ofStreams(synthetic({ services: 3, contracts: ["url"] }), true), { width });
      await open(page, "go-nethttp/current");
      const told = await heads(page, /^Streams of go-nethttp/);
      for (const head of ["First token, p50", "First token, p99", "Per token, p50", "Per token, p99", "Tokens"]) assert.ok(told.includes(head), told.join(" | "));
      assert.match(await page.getByRole("region", { name: /^Streams of go-nethttp/ }).innerText(), /30\.0 ms.*15\.0 ms.*4,321\/s/s);
      await fits(page, width);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("a row shows its backing services, and the checks in them", async () => {
      const report = synthetic({ services: 3, contracts: ["orders"] });
      for (const row of report.groups[0]!.services)
        for (const point of row.details?.points ?? []) {
          const watched = { connections_most: 16, connections: { running: 3.25, lock: 1.5 } };
          point.backing_services = [{ title: "PostgreSQL", version: "15.9", cpu_ns_per_request: 8e4, memory_bytes_peak: 64 * 2 ** 20, disk_written_bytes: null, watched }];
          point.after = [{ name: "none is lost", backing_service: "db", equals: "before + createOrder.201", low: 30, high: 32, found: 31 }];
        }
      const { page, said } = await browser.open(report, { width });
      await open(page, "rust-axum/current");
      const beside = page.getByRole("region", { name: /^Backing services of rust-axum/ });
      assert.match(await beside.innerText(), /PostgreSQL 15\.9\s+80\.0 µs\s+64\.0 MiB\s+–\s+up to 16; on average running 3\.25, lock 1\.50/);
      const found = page.getByRole("region", { name: /^Checks in the backing services of rust-axum/ });
      assert.match(await found.innerText(), /none is lost: before \+ createOrder\.201\s+30 to 32\s+31/);
      await fits(page, width);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await page.close();
    });
  });
}

test("a row without streams does not mention them", async () => {
  const { page } = await browser.open(synthetic({ services: 3, contracts: ["hello"] }));
  await open(page, "rust-axum/current");
  assert.equal(await page.getByRole("region", { name: /^Streams|^Backing services|^Checks in/ }).count(), 0);
  await page.close();
});
