// 400 services × 5 contracts: the size of the page, its loading time, and its response to clicks.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, drawAll, violations } from "./browser.ts";
import { synthetic } from "./synthetic.ts";

const CONTRACTS = ["hello", "sequence", "person", "relay", "snoop"];
const SERVICES = [60, 400];

let browser: Browser;
/** The page with each number of services. Making one takes longer than most of its tests. */
const pages = new Map<number, { address: string; length: number }>();

before(async () => {
  browser = await Browser.start();
  for (const services of SERVICES) pages.set(services, browser.save(synthetic({ services, contracts: CONTRACTS })));
});

after(() => browser.stop());

/** Wall-clock times depend on the machine and its other work: they are printed, but not checked. */
describe("size and speed", () => {
  for (const services of SERVICES)
    test(`${services} services × ${CONTRACTS.length} contracts`, async () => {
      const { address, length: size } = pages.get(services)!;
      const { page, said } = await browser.visit(address);
      const opened = await page.evaluate(() => performance.now());
      const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN);
      // Blocking time beyond 50 ms, as Lighthouse counts it. A timer ends the wait if there is no long task.
      const blocked = await page.evaluate(
        () =>
          new Promise<number>((done) => {
            new PerformanceObserver((list) => done(list.getEntries().reduce((sum, task) => sum + Math.max(0, task.duration - 50), 0))).observe({
              type: "longtask",
              buffered: true,
            });
            setTimeout(() => done(0), 500);
          }),
      );
      const devtools = await browser.context.newCDPSession(page);
      // CPU time of the page's own thread, which excludes other work of the machine.
      await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
      const busy = async (of = "ThreadTime"): Promise<number> => {
        const { metrics } = await devtools.send("Performance.getMetrics");
        return 1000 * (metrics.find((metric) => metric.name === of)?.value ?? 0);
      };
      const opening = await busy("ProcessTime");
      const sorted: string[] = [];
      for (const head of await page.locator(".ranking > thead button").all()) {
        const before = await busy();
        const took = await head.evaluate(async (one: HTMLButtonElement) => {
          const start = performance.now();
          one.click();
          // The click changes the document at the next microtask; then the layout follows.
          await Promise.resolve();
          void document.body.offsetHeight;
          return performance.now() - start;
        });
        const cpu = (await busy()) - before;
        sorted.push(`${await head.evaluate((one) => one.firstChild?.textContent)} ${took.toFixed(0)} (${cpu.toFixed(0)})`);
        // The charts follow a frame later.
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done)))));
      }
      const cells = await page.locator("td, th").count();
      console.log(`${services} services × ${CONTRACTS.length} contracts: ${(size / 1e6).toFixed(2)} MB, ${cells} cells of tables`);
      console.log(`first content after ${painted.toFixed(0)} ms, table there after less than ${opened.toFixed(0)} ms, blocked for ${blocked.toFixed(0)} ms, with ${opening.toFixed(0)} ms of CPU of the whole process`);
      console.log(`sorted and laid out, ms (of CPU, with the charts): ${sorted.join(", ")}`);
      assert.ok(size <= 4e6, `the page has ${size} bytes`);
      const rows = page.locator("tr[data-service]");
      assert.equal(await rows.count(), Math.min(60, services));
      if (services > 60) await page.getByRole("button", { name: `Show all ${services} services` }).click();
      assert.equal(await rows.count(), services);
      assert.ok(cells < 12_000, `${cells} cells`);
      assert.deepEqual(said, []);
      await page.close();
    });

  for (const width of [360, 800, 1600])
    test(`long charts and tables scroll inside themselves at ${width} px`, async () => {
      const { page, said } = await browser.visit(pages.get(400)!.address, { width });
      const figure = page.locator("#chart-bars-throughput_per_s");
      await figure.scrollIntoViewIfNeeded();
      await figure.locator("[data-drawn] canvas").first().waitFor();
      const frame = figure.locator(".long");
      const { inside, outside } = await frame.evaluate((one) => ({ inside: one.scrollHeight, outside: one.clientHeight }));
      assert.ok(inside > 10_000 && outside < 700, `${inside} in ${outside}`);
      const canvas = await figure.locator("canvas").first().boundingBox();
      assert.ok(canvas && canvas.height < 700, JSON.stringify(canvas));
      const seen = () => figure.locator("canvas").first().evaluate((one: HTMLCanvasElement) => one.toDataURL());
      const before = await seen();
      // By the keyboard: the frame takes the focus and scrolls.
      await frame.focus();
      await page.keyboard.press("End");
      await page.waitForFunction((old) => document.querySelector<HTMLCanvasElement>("#chart-bars-throughput_per_s canvas")!.toDataURL() !== old, before);
      const needed = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(needed <= width, `the page is ${needed} px wide`);
      const tables = await page.evaluate(() => Math.max(...[...document.querySelectorAll("table")].filter((one) => !one.matches(".ranking")).map((one) => one.querySelectorAll("td, th").length)));
      assert.ok(tables < 2000, `a table of ${tables} cells`);
      await page.getByRole("button", { name: "The first 40" }).click();
      assert.equal(await page.locator("section[aria-labelledby=pairs] tbody tr").count(), 40);
      assert.deepEqual(said, []);
      await page.close();
    });

  test("axe finds nothing on 100 services", async () => {
    const { page } = await browser.open(synthetic({ services: 100, contracts: ["hello"] }));
    await drawAll(page);
    assert.deepEqual(await violations(page), []);
    await page.close();
  });
});
