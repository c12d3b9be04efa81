// The columns of the ranking beyond the metrics of a load: none that the tables of the terminal and of Markdown have is missing.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { idOf, type Report } from "../src/data.ts";
import { Browser, violations } from "./browser.ts";

/** What prony writes: a report, and the headings of the table of each of its groups in Markdown. A Rust test keeps them current. */
const { heads, report } = JSON.parse(readFileSync(new URL("columns.json", import.meta.url), "utf8")) as { heads: string[][]; report: Report };

let browser: Browser;

before(async () => {
  browser = await Browser.start();
});

after(() => browser.stop());

/** How the page writes the headings that are shorter elsewhere. */
const LONG: Record<string, string> = {
  "cpu/request": "cpu per request",
  "cpu/handshake": "cpu per handshake",
  cpu: "cpus busy",
  memory: "memory, peak",
};

/** A name, and its unit if it has one. */
function parts(head: string): [string, string] {
  const [, name, unit] = /^(.*?)(?:, (\/s|ns|µs|ms|s|B|KiB|MiB|GiB|%))?$/.exec(head)!;
  const lower = name!.toLowerCase();
  return [LONG[lower] ?? lower, unit ?? ""];
}

async function openGroup(index: number, look?: { width: number }): Promise<{ page: Page; said: string[] }> {
  const { groups } = report;
  const opened = await browser.open({ ...report, groups: [groups[index]!] }, look);
  const every = opened.page.getByRole("button", { name: /^All \d+ columns$/ });
  if ((await every.count()) > 0) await every.click();
  return opened;
}

/** The heading of each column: its name in lower case, and its unit. */
const columnsOf = (page: Page): Promise<[string, string][]> =>
  page.locator(".ranking > thead th.figure button").evaluateAll((all) => all.map((one): [string, string] => [one.firstChild!.textContent!.toLowerCase(), one.querySelector("small")?.textContent ?? ""]));

const indexOf = (part: string): number => heads.findIndex((own) => own.some((head) => head.startsWith(part)));

describe("every column of the other formats is on the page", () => {
  for (const [index, own] of heads.entries()) {
    const group = report.groups[index]!;
    test(`${group.contract}, ${group.load_text}`, async () => {
      const { page, said } = await openGroup(index);
      const shown = new Map(await columnsOf(page));
      for (const [name, unit] of own.map(parts)) {
        // It stands under the number that services are ranked by.
        if (name === "ratio") {
          assert.match(await page.locator(".ranking > tbody").innerText(), /[\d.]+ ×/);
          continue;
        }
        assert.ok(shown.has(name), `${name} is not one of ${[...shown.keys()].join(" | ")}`);
        assert.equal(shown.get(name), unit, name);
      }
      assert.deepEqual(said, []);
      assert.deepEqual(await violations(page), []);
      await page.close();
    });
  }
});

describe("the columns", () => {
  for (const [index, group] of report.groups.entries())
    test(`begin with that of the ranking, whose order the rows have: ${group.load_text}`, async () => {
      const { page } = await openGroup(index);
      const rows = page.locator(".ranking > tbody > tr[data-service]:not(.excluded)");
      const ranks = (await rows.locator("td.rank").allInnerTexts()).map(Number.parseFloat);
      assert.deepEqual(ranks, ranks.slice().sort((left, right) => left - right));
      const [first] = await columnsOf(page);
      const name = /^Ranked by (.*?)\. /.exec(await page.locator(".ranking caption").innerText())?.[1];
      assert.equal(first![0], name);
      const values = (await rows.locator("td.figure:nth-of-type(2)").allInnerTexts()).map((text) => Number.parseFloat(text.replaceAll(",", "")));
      const order = values.slice().sort((left, right) => (name === "goodput" ? right - left : left - right));
      assert.deepEqual(values, order);
      await page.close();
    });

  test("can be sorted by each", async () => {
    const { page } = await openGroup(indexOf("CPU over baseline"));
    const rows = page.locator(".ranking > tbody > tr[data-service]:not(.excluded)");
    const at = (await columnsOf(page)).findIndex(([name]) => name === "cpu over baseline");
    await page.getByRole("button", { name: /^CPU over baseline/ }).click();
    const values = await rows.evaluateAll((all, at) => all.map((row) => row.querySelectorAll("td.figure")[at]!.textContent!.trim()), at);
    // The baseline itself has no difference, and is last.
    assert.equal(values.pop(), "–");
    const numbers = values.map((value) => Number.parseFloat(value.replace("−", "-")));
    assert.ok(numbers.length > 1 && numbers.every((number) => number > 0), values.join(" | "));
    assert.deepEqual(numbers, numbers.slice().sort((left, right) => left - right));
    await page.waitForURL(/sort=cpu_ns_over_baseline/);
    await page.close();
  });

  test("show a difference with its sign and the ends of its interval", async () => {
    const { page } = await openGroup(indexOf("CPU over baseline"));
    const row = page.locator('tr[data-service="go-nethttp/current"]');
    assert.match(await row.innerText(), /\+[\d.]+\s+\+[\d.]+ … \+[\d.]+/);
    await row.locator(".more button").click();
    assert.match(await page.locator(".detail-row").innerText(), /CPU per request over rust-axum\/current\s+\+[\d.]+\sµs \(\+[\d.]+ … \+[\d.]+\), 1\.\d+ \(1\.\d+ to 1\.\d+\) ×/);
    await page.close();
  });

  test("are explained above the table, as far as they are shown", async () => {
    for (const [part, explanation] of [
      ["CPU over baseline", /CPU over baseline: CPU per request less that of the service that does the same/],
      ["memory per connection", /Memory per connection: how much the memory grows/],
      ["CPU, TLS ÷ clear", /TLS ÷ clear: the value over TLS divided by that in clear/],
      ["CPU/handshake", /CPU per handshake: CPU per request over TLS less that in clear/],
      ["artefact", /Artefact: all files of the build/],
      ["time to steady rate", /95 % of its steady value/],
    ] as const) {
      const index = indexOf(part);
      assert.ok(index >= 0, part);
      const { page } = await openGroup(index);
      assert.match(await page.locator(".ranking caption").innerText(), explanation);
      await page.close();
    }
    const { page } = await openGroup(indexOf("artefact"));
    assert.doesNotMatch(await page.locator(".ranking caption").innerText(), /baseline|TLS/);
    await page.close();
  });

  test("are in the exports of the table", async () => {
    const { page } = await openGroup(indexOf("CPU over baseline"));
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    const [head, ...lines] = readFileSync(await download.path(), "utf8").trim().split("\r\n");
    const at = head!.split(",").indexOf("cpu_ns_over_baseline");
    assert.ok(at > 0, head);
    const differences = lines.filter((line) => line.startsWith("1,1,") || /go-nethttp/.test(line)).map((line) => line.split(",")[at]!);
    assert.ok(differences.some((text) => Number(text) > 1000), differences.join(" | "));
    await page.close();
  });

  test("leave the page as wide as the screen", async () => {
    for (const width of [380, 1000])
      for (const index of heads.keys()) {
        const { page } = await openGroup(index, { width });
        const needed = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(needed <= width, `${report.groups[index]!.load_text}: the page is ${needed} px wide, and the screen ${width}`);
        await page.close();
      }
  });
});

test("the details of a start have what is known of each", async () => {
  const { page } = await openGroup(indexOf("memory, idle"));
  await page.locator('tr[data-service="rust-axum/current"] .more button').click();
  const table = page.getByRole("region", { name: "Each start of rust-axum/current" });
  const titles = await table.locator("thead th").allInnerTexts();
  for (const title of ["Memory, idle", "Memory, after load", "Start-up", "Start-up, listening"]) assert.ok(titles.includes(title), titles.join(" | "));
  const first = table.locator("tbody tr").first();
  assert.match(await first.locator("td").nth(titles.indexOf("Memory, idle") - 1).innerText(), /^[\d.]+ MiB$/);
  assert.match(await first.locator("td").nth(titles.indexOf("Start-up") - 1).innerText(), /^[34]\.\d+ ms$/);
  assert.deepEqual(await violations(page), []);
  await page.close();
});

test("traits of a contract are yes or no next to its cases", async () => {
  const { page } = await browser.open(report);
  const table = page.locator("section[aria-labelledby=checks] table");
  const titles = (await table.locator("thead th").allInnerTexts()).map((title) => title.replace(/\s+/g, " ").trim());
  assert.deepEqual(titles.slice(-2), ["trait errors are JSON", "trait ids stay numbers"]);
  const cells = async (row: number) => (await table.locator("tbody tr").nth(row).locator("td").allInnerTexts()).slice(-2);
  assert.deepEqual(await cells(0), ["yes", "yes"]);
  assert.deepEqual(await cells(1), ["no", "yes"]);
  assert.equal(await page.locator("section[aria-labelledby=checks] h3", { hasText: "Failures" }).count(), 0, "a missing trait is no failure");
  assert.ok(report.checks!.services.every((check) => check.failures.length === 0), idOf(report.checks!.services[0]!));
  await page.close();
});
