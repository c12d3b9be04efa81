// The pages of a site as prony writes them (`site.json`), on a phone, a tablet and a wide screen.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Browser, violations } from "./browser.ts";
import { hasColour } from "./pdf.ts";
import { synthetic } from "./synthetic.ts";

const files = JSON.parse(readFileSync(new URL("site.json", import.meta.url), "utf8")) as Record<string, string>;
const PAGES = Object.keys(files).filter((path) => path.endsWith(".html"));

let browser: Browser;
let folder: string;

before(async () => {
  browser = await Browser.start();
  folder = join(browser.folder, "site");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
});

after(() => browser.stop());

const address = (path: string): string => pathToFileURL(join(folder, path)).href;

for (const width of [360, 800, 1600]) {
  for (const dark of [false, true]) {
    describe(`at ${width} px, ${dark ? "dark" : "light"}`, () => {
      for (const path of PAGES) {
        test(`${path} fits, loads nothing, and axe finds nothing`, async () => {
          const { page, said } = await browser.visit(address(path), { width, dark });
          const asked: string[] = [];
          page.on("request", (request) => asked.push(request.url()));
          await page.reload();
          await page.waitForSelector("h1");
          assert.deepEqual(asked.filter((url) => !url.startsWith("data:")), [address(path)]);
          const needed = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(needed <= width, `the page is ${needed} px wide`);
          assert.deepEqual(await violations(page), []);
          assert.deepEqual(said, []);
          assert.notEqual(await page.title(), "harmed");
          await page.close();
        });
      }
    });
  }
}

test("the first page leads to a service by the keyboard, and back", async () => {
  const { page, said } = await browser.visit(address("index.html"), { width: 800 });
  const first = page.getByRole("link", { name: "axum", exact: true }).first();
  await first.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(address("services/rust-axum.html"));
  assert.equal(await page.locator("h1").innerText(), "axum");
  assert.match(await page.locator("main").innerText(), /From 2026-11-05 on, goodput is 0\.\d+–0\.\d+ times what it was before\./);
  assert.ok((await page.getByRole("img", { name: /goodput over 8 runs/ }).count()) === 1);
  await page.getByRole("link", { name: "Rankings", exact: true }).click();
  await page.waitForURL(address("index.html"));
  assert.deepEqual(said, []);
  await page.close();
});

test("bars of the first page show intervals, and tied services share colour and label", async () => {
  const { page } = await browser.visit(address("index.html"), { width: 800 });
  const bars = await page.locator("ul.bars").first().locator("li").evaluateAll((all) =>
    all.map((one) => {
      const [bar, interval] = [one.querySelector(".track b")!, one.querySelector(".track i")!];
      return {
        label: one.querySelector(".rank")!.textContent!.replace("rank ", ""),
        colour: getComputedStyle(bar).backgroundColor,
        interval: interval.getBoundingClientRect().width,
        inside: interval.getBoundingClientRect().left <= bar.getBoundingClientRect().right && interval.getBoundingClientRect().right >= bar.getBoundingClientRect().right,
      };
    }),
  );
  assert.deepEqual(bars.map(({ label }) => label), ["1", "tied for 2", "tied for 2"]);
  assert.equal(bars[1]!.colour, bars[2]!.colour);
  assert.notEqual(bars[0]!.colour, bars[1]!.colour);
  for (const bar of bars) assert.ok(bar.interval >= 2 && bar.inside, JSON.stringify(bar));
  await page.close();
});

test("the first page of fifteen studies is under 8,000 px tall on a phone", async () => {
  const { page } = await browser.visit(address("index.html"), { width: 390 });
  const height = await page.evaluate(() => {
    const study = document.querySelector("section[id^=study]")!;
    // The names of the sample are longer than usual.
    study.innerHTML = study.innerHTML.replaceAll(/&lt;script&gt;.*?31m/g, "Go net/http (current)");
    while (document.querySelectorAll("section[id^=study]").length < 15) study.after(study.cloneNode(true));
    return document.documentElement.scrollHeight;
  });
  assert.ok(height < 8000, `${height} px`);
  await page.close();
});

test("a table that scrolls sideways has a shade, and its rank or ratio is visible without scrolling", async () => {
  for (const [path, head] of [["services/rust-axum.html", "rank"], ["changes/2026-11-05T08-30-00-sample.html", "now ÷ before"]] as const) {
    const { page } = await browser.visit(address(path), { width: 390 });
    for (const frame of await page.locator(".table-frame").all()) {
      assert.match(await frame.evaluate((one) => getComputedStyle(one).backgroundImage), /^linear-gradient.*linear-gradient/);
      const column = await frame.locator("thead th", { hasText: new RegExp(`^${head}$`) }).boundingBox();
      assert.ok(column && column.x + column.width <= 390, `${path}: ${head} is at ${JSON.stringify(column)}`);
    }
    await page.close();
  }
});

test("everything of the first page is printed, whether it is open or not", async () => {
  const { page } = await browser.visit(address("index.html"), { width: 800 });
  const closed = page.locator("details article .finding").first();
  assert.equal(await closed.isVisible(), false);
  await page.emulateMedia({ media: "print" });
  assert.equal(await closed.isVisible(), true);
  await page.close();
});

test("a PDF has the bars of the first page, and the history of a service", async () => {
  for (const [path, colours] of [["index.html", ["#bcd7ec", "#0f4f85"]], ["services/rust-axum.html", ["#0f4f85", "#8a4b00"]]] as const) {
    const { page } = await browser.visit(address(path), { dark: true });
    const pdf = await page.pdf({ format: "A4" });
    for (const colour of colours) assert.ok(hasColour(pdf, colour), `${path}: ${colour}`);
    await page.close();
  }
});

test("hostile text is shown as text", async () => {
  const { page } = await browser.visit(address("index.html"));
  assert.match(await page.locator("main").innerText(), /<script>document\.title='harmed'<\/script>/);
  assert.equal(await page.locator("main script").count(), 0);
  await page.close();
});

test("the feed is well-formed", async () => {
  const { page } = await browser.visit(address("index.html"));
  const told = await page.evaluate((text) => {
    const document = new DOMParser().parseFromString(text, "application/xml");
    return { errors: document.querySelectorAll("parsererror").length, entries: document.querySelectorAll("entry").length };
  }, files["feed.xml"]!);
  assert.deepEqual(told, { errors: 0, entries: 9 });
  await page.close();
});

test("the report of a run leads back to the site, and on to a service", async () => {
  const made = synthetic({ services: 9, contracts: ["hello"] });
  const site = { home: "../index.html", services: { "rust-axum/current": "../services/rust-axum.html" } };
  const { page, said } = await browser.open({ ...made, site }, { width: 360 });
  assert.equal(await page.getByRole("link", { name: "All rankings" }).getAttribute("href"), site.home);
  await page.locator('tr[data-service="rust-axum/current"] .more button').click();
  const link = page.getByRole("link", { name: "rust-axum/current in all rankings" });
  assert.equal(await link.getAttribute("href"), site.services["rust-axum/current"]);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(said, []);
  await page.close();
});
