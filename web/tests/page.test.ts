// The report page in a real browser: what a reader sees and does.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import type { Report, Row } from "../src/data.ts";
import { Browser, drawAll, eventually, violations } from "./browser.ts";
import { inTurns, synthetic } from "./synthetic.ts";

const SMALL = { services: 9, contracts: ["hello", "sequence"], rates: [10_000, 30_000, 60_000], workloads: ["getPerson", "listPersons", "createPerson"] };

/** A report that prony itself writes for a made-up run; a Rust test keeps it current. */
const written = JSON.parse(readFileSync(new URL("sample.json", import.meta.url), "utf8")) as Report;

let browser: Browser;

before(async () => {
  browser = await Browser.start();
});

after(() => browser.stop());

const names = (page: Page): Promise<string[]> => page.locator(".ranking > tbody > tr[data-service] .name").allInnerTexts();

/** Number of different colours in the canvas of a figure; one pixel in four is read. */
const colours = (page: Page, figure: string): Promise<number> =>
  page.locator(`${figure} canvas`).evaluate((canvas: HTMLCanvasElement) => {
    const pixels = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set<number>();
    for (let at = 0; at < pixels.length; at += 16) seen.add((pixels[at]! << 16) | (pixels[at + 1]! << 8) | pixels[at + 2]!);
    return seen.size;
  });

/** Number of bars that a vertical line just right of the axis crosses. */
const barCount = (page: Page): Promise<number> =>
  page.locator("#chart-bars-throughput_per_s canvas").evaluate((canvas: HTMLCanvasElement) => {
    let skipped = 0;
    const { data, width, height } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    for (let x = 0; x < width; x += 1) {
      let bars = 0;
      let inside = false;
      for (let y = 0; y < height; y += 1) {
        const at = (y * width + x) * 4;
        const now = data[at] === 0x2f && data[at + 1] === 0x7d && data[at + 2] === 0xbd;
        if (now && !inside) bars += 1;
        inside = now;
      }
      // The axis is where the first bar starts; its own column may be blended with the axis line.
      if (bars > 0 && x + 5 < width && skipped++ > 4) return bars;
    }
    return 0;
  });

describe("the report", () => {
  test("opens from disk without network, errors or requests", async () => {
    await browser.context.setOffline(true);
    const { page, said } = await browser.open(synthetic(SMALL));
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await drawAll(page);
    await browser.context.setOffline(false);
    assert.deepEqual(said, []);
    assert.deepEqual(asked, []);
    assert.match(await page.locator(".answer").innerText(), /rust-axum leads/);
    await page.close();
  });

  test("draws an interleaved ranking cycle by cycle, with CPU per request first and the disturbed cycles marked", async () => {
    const { page, said } = await browser.open(inTurns(synthetic(SMALL)));
    await drawAll(page);
    const heads = await page.locator(".ranking > thead th").allInnerTexts();
    const at = (word: string) => heads.findIndex((head) => head.includes(word));
    assert.ok(at("CPU per request") > 0 && at("CPU per request") < at("Goodput"), heads.join(" | "));
    const figure = page.locator("#chart-interleaved");
    assert.match(await figure.locator("figcaption").innerText(), /Shaded: the 10 of 30 cycles .* \(usually [\d.]+ %\)/);
    assert.ok((await colours(page, "#chart-interleaved")) > 8);
    await figure.locator("summary").click();
    await figure.locator("table.plain tbody tr").first().waitFor();
    const head = await figure.locator("table.plain th").allInnerTexts();
    assert.ok(head.some((cell) => cell.includes("Replies per second of CPU")), head.join(" | "));
    assert.equal(await figure.locator("table.plain tbody tr").count(), 8);
    assert.deepEqual(said, []);
    await page.close();
  });

  test("has no chart of windows if services were not interleaved", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    assert.equal(await page.locator("#chart-interleaved").count(), 0);
    await page.close();
  });

  test("shows ranks as ranges and excluded services with their reason", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    const ranks = await page.locator(".ranking > tbody > tr[data-service] > td.rank").allInnerTexts();
    assert.deepEqual(ranks.map((rank) => rank.replace(/\s+/g, " ").trim()), ["1", "2", "3", "4–5 tied with 1", "4–5 tied with 1", "6", "7–8 tied with 1", "7–8 tied with 1", "– not ranked"]);
    assert.match(await page.locator("tr.excluded").innerText(), /Excluded at check: .*12 bytes/s);
    await page.close();
  });

  test("ranks a service that the generator limited as a lower bound, with its ties", async () => {
    const report = synthetic(SMALL);
    const [first, second] = report.groups[0]!.services as [Row, Row];
    const id = (row: Row) => `${row.service}/${row.variant}`;
    // The second may be the first: its rate is a lower bound.
    Object.assign(first, { rank_high: 2 });
    Object.assign(second, { generator_bound: true, rank: 1, rank_low: 1, rank_high: 2, tied_with: [id(first)] });
    const { page } = await browser.open(report);
    const row = page.locator(`tr[data-service="${id(second)}"]`);
    assert.match(await row.innerText(), /^1–2\s+tied with 1[^]*generator’s limit[^]*≥ \d/);
    assert.match(await page.locator(".ranking caption").innerText(), /compare CPU per request/);
    for (const [one, other] of [[first, second], [second, first]] as const) {
      await page.locator(`tr[data-service="${id(one)}"] .more button`).click();
      const title = report.services.find((info) => id(info as unknown as Row) === id(other))!.title;
      assert.match(await page.locator(".detail-row").last().innerText(), new RegExp(`Statistically tied with\\s+${title.replaceAll(".", "\\.")}`));
      await page.locator(`tr[data-service="${id(one)}"] .more button`).click();
    }
    await page.close();
  });

  test("draws the ceiling of a slow backend and gives its reason", async () => {
    const report = synthetic(SMALL);
    report.groups[0]!.ceiling_per_s = 123_456;
    report.groups[0]!.ceiling_text = "No service can do more than 123,456/s here.";
    const { page, said } = await browser.open(report);
    assert.match(await page.locator(".answer").innerText(), /No service can do more than 123,456/);
    const figure = page.locator("#chart-bars-throughput_per_s");
    await drawAll(page);
    const [download] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: "as SVG" }).click()]);
    assert.match(readFileSync(await download.path(), "utf8"), /ceiling by Little’s law: 123,456/);
    assert.deepEqual(said, []);
    await page.close();
  });

  test("shows quantiles for arriving users, with CPU and memory next to them", async () => {
    const report = synthetic({ services: 4, contracts: ["snoop"] });
    report.groups[0]!.load = { kind: "users" };
    const { page } = await browser.open(report);
    const heads = await page.locator(".ranking > thead button").evaluateAll((all) => all.map((one) => one.firstChild?.textContent));
    assert.deepEqual(heads, ["Rank", "Service", "p75", "p95", "p99", "Longest", "CPUs busy", "Memory, peak"]);
    await page.close();
  });

  test("lists failed checks separately from warnings", async () => {
    const report = synthetic(SMALL);
    report.checks!.services[0]!.warnings = ["no Date header"];
    const { page } = await browser.open(report);
    const section = page.locator("section[aria-labelledby=checks]");
    assert.deepEqual(await section.locator("h3").allInnerTexts(), ["Failures", "Warnings (do not fail the check)"]);
    const [failed, warned] = await section.locator("ul.findings").allInnerTexts();
    assert.match(failed!, /expected/);
    assert.ok(warned!.includes("no Date header") && !failed!.includes("no Date header"));
    await page.close();
  });

  test("sorts by a click and by the keyboard, absent values last", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    const byService = page.getByRole("button", { name: "Service" });
    await byService.click();
    const sorted = await names(page);
    assert.deepEqual(sorted, sorted.slice().sort((left, right) => left.localeCompare(right)));
    await byService.focus();
    await page.keyboard.press("Enter");
    assert.deepEqual(await names(page), sorted.slice().reverse());
    assert.equal(await page.locator('th[aria-sort="descending"]').innerText().then((text) => text.includes("Service")), true);
    await page.getByRole("button", { name: /^Memory/ }).click();
    const memory = await page.locator(".ranking > tbody > tr[data-service]").evaluateAll((rows) =>
      rows.map((row) => Number.parseFloat(row.querySelectorAll("td.figure")[4]?.textContent ?? "Infinity")),
    );
    assert.deepEqual(memory, memory.slice().sort((left, right) => left - right));
    await page.close();
  });

  test("filters the table and the charts under it", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    await page.getByLabel("Language").selectOption("Go");
    assert.deepEqual(await names(page), ["Go net/http", "gorilla/mux"]);
    await drawAll(page);
    await eventually(() => barCount(page), 2);
    await page.getByLabel("Language").selectOption("");
    await page.getByLabel("Find").fill("netty");
    assert.deepEqual(await names(page), ["Netty"]);
    assert.equal(await page.getByText("1 of 9 services").count(), 1);
    await page.close();
  });

  test("draws every chart, with as many bars as services", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    await drawAll(page);
    const figures = await page.locator("figure.chart").evaluateAll((all) => all.map((one) => one.id));
    assert.deepEqual(figures, [
      "chart-bars-throughput_per_s",
      "chart-percentiles",
      "chart-density",
      "chart-capacity",
      "chart-cost",
      "chart-radar",
      "chart-over-time",
      "chart-heat-map",
      "chart-over-each-other",
      "chart-published",
    ]);
    for (const figure of figures) assert.ok((await colours(page, `#${figure}`)) > 8, `${figure} is blank`);
    await eventually(() => barCount(page), 8);
    await page.close();
  });

  test("shows a radar of workloads, and another group by choice", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    await page.getByLabel("Contract, workload and load").selectOption({ label: "person · getPerson" });
    await drawAll(page);
    const radar = page.locator("#chart-radar");
    await radar.getByText("As a table").click();
    await radar.locator("tbody tr").first().waitFor();
    assert.deepEqual(await radar.locator("thead th").allInnerTexts(), ["Service", "getPerson", "listPersons", "createPerson"]);
    await page.close();
  });

  test("does not draw what was not measured as zero", async () => {
    const report = synthetic({ services: 4, contracts: ["hello"] });
    const [group] = report.groups;
    const lacking = group!.services[1]!;
    lacking.details!.operations.pop();
    const { page } = await browser.open(report);
    await drawAll(page);
    const radar = page.locator("#chart-radar");
    const name = await page.locator("tr[data-service] .name").nth(1).innerText();
    assert.match(await radar.locator("figcaption").innerText(), new RegExp(`Not drawn, since not every operation was measured: ${name}\\.`));
    const [download] = await Promise.all([page.waitForEvent("download"), radar.getByRole("button", { name: "as SVG" }).click()]);
    assert.ok(!readFileSync(await download.path(), "utf8").includes(`>${name}<`), "it is not in the legend");
    await radar.locator("summary").click();
    assert.match(await radar.locator("tbody tr", { hasText: name }).innerText(), /not measured/);
    await page.close();
  });

  test("opens details with warnings and each trial", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    const row = page.locator('tr[data-service="go-gorilla/current"]');
    assert.match(await row.locator(".more").innerText(), /1 warning/);
    await row.getByRole("button").click();
    const details = page.locator(".detail-row");
    assert.match(await details.innerText(), /schedule lag/);
    assert.equal(await details.locator(".plain tbody tr").count(), 5);
    await page.close();
  });

  test("shows the memory of the machine, and how much of it prony may use", async () => {
    const { page } = await browser.open(written);
    assert.match(await page.locator("section", { has: page.locator("#method") }).innerText(), /24\.0 GiB, of which prony may use 2\.00 GiB/);
    await page.close();
  });

  test("exports a chart as PNG and as SVG", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    await drawAll(page);
    const save = async (kind: string) => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.locator("#chart-percentiles").getByRole("button", { name: `as ${kind}` }).click(),
      ]);
      return readFileSync(await download.path());
    };
    assert.equal((await save("PNG")).subarray(1, 4).toString(), "PNG");
    const svg = (await save("SVG")).toString();
    assert.match(svg, /^<svg/);
    assert.match(svg, /Go net\/http/);
    await page.close();
  });

  test("is dark if the system is, or if the reader wants it", async () => {
    const background = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const { page } = await browser.open(synthetic(SMALL), { dark: true });
    assert.equal(await background(page), "rgb(23, 27, 32)");
    await drawAll(page);
    const corner = await page.locator("#chart-percentiles canvas").evaluate((canvas: HTMLCanvasElement) => [...canvas.getContext("2d")!.getImageData(2, canvas.height - 2, 1, 1).data]);
    assert.deepEqual(corner, [23, 27, 32, 255]);
    await page.getByLabel("Colours").selectOption("light");
    await page.waitForFunction(() => getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)");
    await page.getByLabel("Colours").selectOption("auto");
    await page.close();
  });

  test("fits a phone of 380 px", async () => {
    const { page } = await browser.open(synthetic(SMALL), { width: 380 });
    await drawAll(page);
    await page.locator(".ranking .more button").nth(2).click();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 380, `the page is ${width} px wide`);
    await page.close();
  });

  test("is a page if no service has a number", async () => {
    const report = synthetic({ services: 3, contracts: ["hello"] });
    const [group] = report.groups;
    group!.finding = "No service has a number that can be ranked.";
    group!.pairs = { ids: [], logs: [], verdicts: "", reach: "" };
    group!.services = group!.services.map(({ service, variant, generator_bound, warnings }) => ({
      ...{ service, variant, generator_bound, warnings, rank: null, rank_low: null, rank_high: null, trials: 0, failed_trials: 5, bytes_per_reply: null, details: null },
      excluded: { stage: "start", reason: "it ended with exit code 1", log_tail: ["no such file"] },
    }));
    report.reference = [];
    for (const width of [360, 1600]) {
      const { page, said } = await browser.open(report, { width });
      assert.match(await page.locator(".answer").innerText(), /No service has a number/);
      assert.equal(await page.locator("tr.excluded").count(), 3);
      assert.equal(await page.locator("#charts, #pairs, #duel").count(), 0);
      await page.locator(".ranking .more button").first().click();
      assert.match(await page.locator(".detail-row").innerText(), /no such file/);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await page.close();
    }
  });

  test("keeps published figures within the page", async () => {
    const report = synthetic(SMALL);
    const metrics = ["response_time_ns_p50", "response_time_ns_p75", "response_time_ns_p95", "memory_bytes_peak"] as const;
    for (const row of report.reference) row.figures.push(...metrics.map((metric) => ({ metric, published: 1.5e6, ours: 1.25e6 })));
    for (const width of [360, 800, 1400, 1600]) {
      const { page } = await browser.open(report, { width });
      const right = (what: string) => page.locator(what).last().evaluate((one) => one.getBoundingClientRect().right);
      const [table, main] = [await right("section[aria-labelledby=published] .scroll"), await right("main")];
      assert.ok(table <= main, `the table ends at ${table} px, and the page at ${main} px`);
      await page.close();
    }
  });

  test("shows that a single trial has no interval", async () => {
    const report = synthetic({ services: 3, contracts: ["hello"] });
    for (const row of report.groups[0]!.services) if (row.excluded === null) row.goodput_per_s = row.throughput_per_s = { observed: [1000] };
    const { page, said } = await browser.open(report);
    assert.match(await page.locator(".ranking > tbody").innerText(), /1,000 1 trial/);
    assert.deepEqual(said, []);
    await page.close();
  });
});

describe("what prony writes", () => {
  test("is drawn in full", async () => {
    const { page, said } = await browser.open(written);
    await drawAll(page);
    assert.deepEqual(said, []);
    for (const figure of await page.locator("figure.chart").evaluateAll((all) => all.map((one) => one.id)))
      assert.ok((await colours(page, `#${figure}`)) > 8, `${figure} is blank`);
    assert.match(await page.locator(".answer").innerText(), /axum leads: 72,125 valid replies per second/);
    await page.close();
  });

  test("shows hostile names, reasons and log lines as text", async () => {
    const { page } = await browser.open(written);
    await drawAll(page);
    await page.locator("tr.excluded .more button").click();
    await page.locator('tr[data-service="go-gorilla/current"] .more button').click();
    await page.locator("#chart-bars-goodput_per_s canvas").hover({ position: { x: 400, y: 54 } });
    await page.locator(".tip").waitFor();
    assert.equal(await page.title(), "sample – prony");
    assert.equal(await page.locator("main script, .tip script").count(), 0);
    assert.match(await page.locator(".log pre").innerText(), /<script>document\.title='harmed'<\/script>/);
    assert.ok((await names(page)).some((name) => name.startsWith("<script>")));
    await page.close();
  });
});

describe("accessibility", () => {
  for (const look of [{ dark: false, width: 1280 }, { dark: true, width: 1280 }, { dark: false, width: 380 }]) {
    test(`axe finds nothing (${look.dark ? "dark" : "light"}, ${look.width} px)`, async () => {
      const { page } = await browser.open(synthetic(SMALL), look);
      await drawAll(page);
      await page.locator(".ranking .more button").nth(2).click();
      await page.locator("#chart-percentiles summary").click();
      assert.deepEqual(await violations(page), []);
      await page.close();
    });
  }
});
