// How the page says what it knows: ties, scales, dots, warnings, missing bounds, commands, names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import type { Report, Row } from "../src/data.ts";
import { Browser, drawAll } from "./browser.ts";
import { synthetic } from "./synthetic.ts";

const SMALL = { services: 9, contracts: ["hello"] };
const idOf = (row: Row): string => `${row.service}/${row.variant}`;

let browser: Browser;

before(async () => {
  browser = await Browser.start();
});

after(() => browser.stop());

const row = (page: Page, id: string) => page.locator(`tr[data-service="${id}"]`);

/** The chart as it is exported. */
async function svgOf(page: Page, chart: string): Promise<string> {
  await drawAll(page);
  const button = page.locator(`#chart-${chart}`).getByRole("button", { name: "as SVG" });
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return readFileSync(await download.path(), "utf8");
}

/** The texts of a drawing that do not lie in it completely. */
async function cutTexts(svg: string): Promise<string[]> {
  const page = await browser.context.newPage();
  await page.setContent(svg);
  const cut = await page.locator("svg").evaluate((drawing: SVGSVGElement) =>
    [...drawing.querySelectorAll("text")]
      .filter((one) => {
        const [text, all] = [one.getBoundingClientRect(), drawing.getBoundingClientRect()];
        return text.left < all.left - 0.5 || text.right > all.right + 0.5;
      })
      .map((one) => one.textContent ?? ""),
  );
  await page.close();
  return cut;
}

describe("verdicts", () => {
  test("ties are said in words, with their number", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    const ranges = (await page.locator("tr[data-service] td.rank").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
    assert.ok(ranges.includes("4–5 tied with 1"), ranges.join(" | "));
    await page.close();
  });

  test("a pair is inconclusive, or equal within the band", async () => {
    const report = synthetic(SMALL);
    const { pairs } = report.groups[0]!;
    assert.ok(pairs.verdicts.includes("c"));
    // The first pair is proven to be equal.
    pairs.verdicts = `e${pairs.verdicts.slice(1)}`;
    const { page } = await browser.open(report);
    const words = new Set(await page.locator("section[aria-labelledby=pairs] td small").allInnerTexts());
    assert.deepEqual(words, new Set(["equal within 1 %", "better", "worse", "inconclusive"]));
    assert.match(await page.locator(".duel").innerText(), /: they are equal within 1 %\./);
    assert.doesNotMatch(await page.locator("main").innerText(), /\btie\b|\?/);
    await page.close();
  });

  test("two services side by side have one unit in each row, and their ratio first", async () => {
    const report = synthetic(SMALL);
    const rows = report.groups[0]!.services;
    rows[0]!.memory_bytes_peak = { point: 13e6, low: 12.9e6, high: 13.1e6 };
    rows[1]!.memory_bytes_peak = { point: 2.1e9, low: 2.0e9, high: 2.2e9 };
    const { page } = await browser.open(report, { width: 390 });
    const table = page.getByRole("region", { name: "The numbers of both" });
    assert.deepEqual((await table.locator("thead th").allInnerTexts()).slice(0, 2), ["Metric", "Ratio"]);
    const lines = await table.locator("tbody tr").allInnerTexts();
    const memory = lines.find((line) => line.startsWith("Memory, peak, MiB"));
    assert.match(memory ?? "", /^Memory, peak, MiB\s+0\.01 ×\s+12\.4 ±0\.8 %\s+2,003 ±4\.8 %$/, lines.join(" | "));
    assert.equal(lines.filter((line) => /^(Throughput|Goodput|Offered)/.test(line)).length, 1, "rates that are equal stand once");
    const box = await table.locator("tbody td").first().boundingBox();
    assert.ok(box && box.x + box.width <= 390, "the ratio is visible without scrolling");
    await page.close();
  });
});

describe("numbers", () => {
  test("bars of values that differ by more than 20 are logarithmic, and say so", async () => {
    const report = synthetic(SMALL);
    const rows = report.groups[0]!.services;
    const memory = (at: number, factor: number) => {
      const point = 8 * 2 ** 20 * factor;
      rows[at]!.memory_bytes_peak = { point, low: 0.98 * point, high: 1.02 * point };
    };
    rows.forEach((one, at) => one.excluded ?? memory(at, at === 7 ? 21 : 1 + at / 10));
    const { page } = await browser.open(report);
    const heads = await page.locator(".ranking > thead th.figure").allInnerTexts();
    const at = heads.findIndex((head) => head.startsWith("Memory"));
    assert.match(heads[at]!, /log scale/);
    assert.ok(heads.some((head) => head.startsWith("Throughput") && !head.includes("log scale")), heads.join(" | "));
    assert.match(await page.locator(".ranking caption").innerText(), /logarithmic scale/);
    const tracks = await page.locator("tr[data-service]:not(.excluded)").evaluateAll((all, cell) => all.map((one) => one.querySelectorAll<HTMLElement>("td.figure .track")[cell]!.style.background), at);
    // The end of the bar: the last but one of the gradients.
    const ends = tracks.map((background) => Number(/var\(--fill\) 0% ([\d.]+)%/.exec(background)?.[1] ?? /([\d.]+)%\)? 0px/.exec(background)?.[1]));
    assert.ok(Math.min(...ends) > 10 && Math.max(...ends) > 90, ends.join(" "));
    await page.close();
  });

  test("five trials are five dots, even if they are equal", async () => {
    const report = synthetic(SMALL);
    const first = report.groups[0]!.services[0]!;
    for (const point of first.details!.points) point.throughput_per_s = 70_000;
    const { page } = await browser.open(report);
    const places = await row(page, idOf(first)).locator(".track").first().evaluate((one) => [...getComputedStyle(one).backgroundImage.matchAll(/at ([\d.]+% [\d.]+px)/g)].map(([, at]) => at));
    assert.equal(new Set(places).size, 5, places.join(" | "));
    const svg = await svgOf(page, "bars-throughput_per_s");
    // The dots of the first bar are at the same value, on five lines.
    const dots = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)" r="1\.7"/g)].slice(0, 5);
    assert.equal(new Set(dots.map(([, x]) => x)).size, 1, svg.slice(0, 400));
    assert.equal(new Set(dots.map(([, , y]) => y)).size, 5);
    await page.close();
  });

  test("no label of a chart is cut", async () => {
    const report = synthetic(SMALL);
    const [first] = report.groups[0]!.services as [Row];
    first.generator_bound = true;
    first.throughput_per_s = { point: 1_123_640, low: 700_000, high: 1_600_000 };
    const title = report.services.find((info) => info.service === first.service)!;
    title.title = "A framework with a rather long name (published-settings)";
    const { page } = await browser.open(report);
    const svg = await svgOf(page, "bars-throughput_per_s");
    assert.match(svg, /≥ 700,000–1,600,000/);
    assert.deepEqual(await cutTexts(svg), []);
    await page.close();
  });

  test("a chart that scrolls fades, and says how many rows it shows", async () => {
    const { page } = await browser.open(synthetic({ services: 75, contracts: ["hello"] }));
    const figure = page.locator("#chart-bars-throughput_per_s");
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("[data-drawn] canvas").first().waitFor();
    assert.match(await figure.locator(".rows-shown").innerText(), /^19 of 74: scroll/);
    assert.equal(await figure.locator(".fade").count(), 1);
    await figure.locator(".long").focus();
    await page.keyboard.press("End");
    await figure.locator(".fade").waitFor({ state: "detached" });
    await page.close();
  });

  test("what has no bound says so in cells and charts", async () => {
    const report = synthetic({ ...SMALL, rates: [10_000, 30_000] });
    for (const group of report.groups.slice(1)) {
      group.ranked_by = "response_time_ns_p99";
      const lossy = group.services[1]!;
      lossy.response_time_ns_p99 = { without_bound: 5, trials: 5 };
      lossy.details!.outcomes["timeout"] = Math.round(0.05 * lossy.details!.outcomes["valid"]!);
      for (const point of lossy.details!.points) point.response_time_ns_p99 = "no_bound";
    }
    const { page, said } = await browser.open(report);
    await page.getByRole("radio", { name: /10,000/ }).check({ force: true });
    const name = await page.locator("tr[data-service] .name").nth(1).innerText();
    const lossy = page.locator("tr[data-service]").nth(1);
    assert.match(await lossy.innerText(), /no bound/);
    await lossy.locator(".more button").click();
    assert.equal((await page.locator(".detail-row").innerText()).match(/no bound/g)?.length, 6, "of all trials, and of each");
    assert.match(await svgOf(page, "bars-response_time_ns_p99"), />no bound</);
    for (const chart of ["bars-response_time_ns_p99", "percentiles", "capacity"]) {
      const figure = page.locator(`#chart-${chart}`);
      await figure.locator("summary").click();
      const line = figure.locator("tbody tr", { hasText: name });
      assert.match(await line.innerText(), /no bound/, chart);
    }
    assert.match(await page.locator("#chart-capacity figcaption").innerText(), /No bound: .* at 10,000\/s offered/);
    assert.deepEqual(said, []);
    await page.close();
  });
});

describe("warnings", () => {
  const NOISE = "Other programs used 9 % of the machine.";

  test("one of most services stands above the ranking, and marks no row", async () => {
    const report = synthetic(SMALL);
    const group = report.groups[0]!;
    group.warnings = [{ kind: "noise", text: `7 of 8 services: ${NOISE} (example: axum)`, level: "warning", affects: ["rates", "times", "cpu"], scope: "machine" }];
    for (const one of group.services) one.warnings = [{ kind: "noise", text: "Other programs used 5 % of the machine.", level: "warning", affects: ["rates", "times", "cpu"], scope: "machine" }];
    const own = group.services[2]!;
    own.warnings.push({ kind: "littles_law", text: "Latency is too low.", level: "warning", affects: ["times"], scope: "service" });
    const { page } = await browser.open(report);
    assert.match(await page.locator(".answer .warnings").innerText(), /7 of 8 services: Other programs/);
    const marked = await page.locator("tr[data-service]", { has: page.locator(".sign") }).evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset["service"]));
    assert.deepEqual(marked, [idOf(own)]);
    await row(page, idOf(group.services[0]!)).locator(".more button").click();
    assert.match(await page.locator(".detail-row").innerText(), /used 5 % of the machine/, "the details have its own value");
    await page.close();
  });

  test("a note follows what it refers to, and back-quotes are code", async () => {
    const report = synthetic(SMALL);
    const [first] = report.groups[0]!.services as [Row];
    first.warnings = [
      { kind: "repeated", text: "Repeated: the first trial was disturbed.", level: "note", affects: [], scope: "machine" },
      { kind: "noise", text: "The repeat was disturbed as well: `stress` ran.", advice: "Try `prony run quick --interleaved`.", level: "warning", affects: ["rates"], scope: "machine" },
    ];
    report.method.push("It was started by `prony run quick`.");
    report.groups[0]!.finding += " See `prony compare`.";
    const { page } = await browser.open(report);
    await row(page, idOf(first)).locator(".more button").click();
    const lines = await page.locator(".detail-row .warnings li").allInnerTexts();
    assert.deepEqual(lines.map((line) => /first trial|repeat was/.exec(line)?.[0]), ["first trial", "repeat was"]);
    assert.deepEqual(await page.locator(".detail-row .warnings code").allInnerTexts(), ["stress", "prony run quick --interleaved"]);
    assert.equal(await page.locator(".answer code").innerText(), "prony compare");
    assert.equal(await page.locator(".method code").innerText(), "prony run quick");
    assert.equal(await page.locator("tr.excluded .reason code").first().innerText(), "hello");
    assert.doesNotMatch(await page.locator("main").innerText(), /`/);
    await page.close();
  });
});

describe("the details of a row", () => {
  test("name its source, its commands, and the command that measures it again", async () => {
    const { page } = await browser.open(synthetic(SMALL));
    await row(page, "rust-axum/current").locator(".more button").click();
    const details = page.locator(".detail-row");
    const value = (name: string) => details.locator("dl > div", { has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).locator("dd").innerText();
    assert.equal(await value("Source"), "services/rust-axum, commit 0123abcd4567");
    assert.equal(await value("Build"), "make rust-axum");
    assert.equal(await value("Start"), "exec ./rust-axum");
    assert.equal(await value("Measure it again"), "prony run quick --service rust-axum/current");
    await page.close();
  });
});

describe("checks", () => {
  test("columns are named by operation and case, and reasons are complete", async () => {
    const report = synthetic(SMALL);
    const checks = report.checks!.services;
    const reason = `the toolchain is missing: ${"a rather long explanation ".repeat(20)}end`;
    for (const check of checks) Object.assign(check.operations!, { "query string": ["hello", "other"], HEAD: ["hello", "other", "third"] });
    Object.assign(checks[1]!, { unavailable: reason, cases: [], failures: [] });
    for (const width of [390, 1280]) {
      const { page } = await browser.open(report, { width });
      const section = page.locator("section[aria-labelledby=checks]");
      const heads = (await section.locator("thead th").allInnerTexts()).map((head) => head.replace(/\s+/g, " "));
      assert.deepEqual(heads, ["hello hello", "hello, other query string", "hello unknown path", "hello wrong method", "3 operations HEAD"]);
      const told = section.locator("ul.findings", { hasText: "the toolchain is missing" });
      assert.match(await told.innerText(), /explanation end/);
      const cut = await section.locator("ul.findings li").evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
      assert.equal(cut, 0);
      await page.close();
    }
  });
});

/** Elements that hide a part of their content sideways without a fade. */
const hiddenSideways = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("main *")]
      .filter((one) => ["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX) && one.clientWidth > 1)
      .filter((one) => one.scrollWidth > one.clientWidth + 1 && !one.matches(".scroll.more-right, .hidden"))
      .map((one) => one.className),
  );

describe("a phone of 390 px", () => {
  const withRatios = (report: Report): Report => {
    for (const one of report.groups[0]!.services) if (one.excluded === null) one.ratio_to_first = { point: 0.5, low: 0.4, high: 0.7 };
    const [first] = report.groups[0]!.services as [Row];
    first.ratio_to_first = { point: 1, low: 1, high: 1 };
    first.throughput_per_s = { point: 123_640, low: 76_000, high: 172_000 };
    first.warnings = [{ kind: "noise", text: "Other programs used 9 % of the machine.", level: "warning", affects: ["rates"], scope: "machine" }];
    report.services[1]!.title = "Deno.serve";
    return report;
  };

  test("only tables with a fade scroll sideways, and rank and ratio are visible", async () => {
    const { page } = await browser.open(withRatios(synthetic({ ...SMALL, workloads: ["a", "b", "c"] })), { width: 390 });
    await drawAll(page);
    for (const button of await page.locator(".ranking .more button").all()) await button.click();
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    assert.deepEqual(await hiddenSideways(page), []);
    for (const one of await page.locator("tr[data-service]:not(.excluded)").all())
      for (const part of ["td.rank", ".share"]) {
        const box = await one.locator(part).first().boundingBox();
        assert.ok(box && box.x >= 0 && box.x + box.width <= 390, `${part}: ${JSON.stringify(box)}`);
      }
    await page.close();
  });

  test("no number and no name of one word is broken", async () => {
    const { page } = await browser.open(withRatios(synthetic(SMALL)), { width: 390 });
    const whole = page.locator(".name, .number .nowrap > span:first-of-type, .number > small, td.rank > span:not(:has(small))");
    const broken = await whole.evaluateAll((all) =>
      all
        .filter((one) => !one.matches(".name") || !one.textContent!.includes(" "))
        .filter((one) => one.getClientRects().length > 1 || one.getBoundingClientRect().height > 26)
        .map((one) => one.textContent),
    );
    assert.deepEqual(broken, []);
    assert.match(await page.locator("tr[data-service] .name").allInnerTexts().then((all) => all.join(" ")), /Deno\.serve/);
    const head = await page.locator(".ranking > thead .rank button").boundingBox();
    assert.ok(head && head.height < 36, `the heading of the ranks takes ${head?.height} px`);
    await page.close();
  });
});
