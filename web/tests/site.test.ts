// The pages of a site as prony writes them (`site.json`), on a phone, a tablet and a wide screen.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Browser, violations } from "./browser.ts";
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
