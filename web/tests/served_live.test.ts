// The served pages while something changes or fails: lost connections, refetches, the list of runs, several tabs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import type { Report } from "../src/data.ts";
import { Browser, eventually, violations } from "./browser.ts";
import { FakeServer } from "./server.ts";
import { synthetic } from "./synthetic.ts";

const served = JSON.parse(readFileSync(new URL("served.json", import.meta.url), "utf8"));
const ids: string[] = served.runs.map((run: { id: string }) => run.id);
/** The result of each run. */
const all = ids.map((run, index) => ({ run, answer: `service ${index} leads`, more: 0 }));
const WIDTHS = [390, 1400];

let browser: Browser;
let server: FakeServer;

before(async () => {
  [browser, server] = [await Browser.start(), await FakeServer.start()];
  server.answers.set("/api/rights", served.rights);
  server.answers.set("/api/runs", served.runs);
  server.answers.set("/api/services", served.services);
  server.answers.set("/api/answers", all);
});

after(async () => {
  await browser.stop();
  await server.stop();
});

/** Without what the browser itself says about failed requests. */
const own = (said: string[]): string[] => said.filter((line) => !/Failed to load resource|ERR_/.test(line));

const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);

const running = (): Report => ({ ...synthetic({ services: 3, contracts: ["hello"] }), state: "running", ended_at: null, trials: 3 });

let second = 0;
const news = (service: string, throughput: number | null, trials = 3) => ({
  running: true,
  trials,
  sequence: trials,
  progress: {
    at: `2026-11-21T08:30:${String(second++).padStart(2, "0")}Z`,
    done: trials,
    planned: 15,
    eta_s: 125,
    service: { service, variant: "current" },
    contract: "hello",
    workload: "hello",
    step: null,
    phase: "measurement",
    throughput_per_s: throughput,
    response_time_ns_p99: throughput && 2_400_000,
    workers: [],
    lost: null,
  },
});

async function openRun(width: number): Promise<{ page: Page; said: string[]; place: string }> {
  const report = running();
  const place = `/api/runs/${report.run}`;
  server.answers.set(place, report);
  const { page, said } = await browser.visit(`${server.address}/run/${report.run}`, { width });
  await eventually(async () => server.listening, 1);
  server.tell(news("go-gorilla", 51_000));
  await page.locator(".now").waitFor();
  return { page, said, place };
}

for (const width of WIDTHS)
  describe(`at ${width} px`, () => {
    test("a lost connection is shown until there is one again", async () => {
      const { page, said } = await openRun(width);
      server.down = true;
      server.hangUp();
      await page.getByText(/connection to the server is lost/).waitFor();
      assert.equal(await page.locator("tr[data-service]").count(), 3, "the report stays");
      assert.ok((await widthOf(page)) <= width);
      assert.deepEqual(await violations(page), []);
      server.down = false;
      await eventually(async () => server.listening, 1);
      await page.getByText(/connection to the server is lost/).waitFor({ state: "detached" });
      assert.deepEqual(own(said), []);
      await page.close();
    });

    test("a report that cannot be asked for again stays, with a note and its open row", async () => {
      const { page, said, place } = await openRun(width);
      await page.locator("tr[data-service] .more button").first().click();
      server.broken.add(place);
      server.tell(news("go-gorilla", 52_000, 4));
      await page.getByText("This may be out of date: the disk is full").waitFor();
      assert.equal(await page.locator(".detail-row").count(), 1);
      server.broken.delete(place);
      await page.locator(".stale").waitFor({ state: "detached" });
      assert.equal(await page.locator(".detail-row").count(), 1);
      assert.deepEqual(own(said), []);
      await page.close();
    });

    test("the lines of a load begin anew with the next service, and have gaps", async () => {
      const { page } = await openRun(width);
      const line = page.locator(".spark").first();
      const places = () => line.locator("polyline").evaluateAll((all) => all.map((one) => one.getAttribute("points")!.split(" ").length));
      const tell = async (service: string, values: (number | null)[]) => {
        for (const value of values) {
          server.tell(news(service, value));
          await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
        }
      };
      await tell("go-gorilla", [50_000, null, 49_000, 51_000]);
      await eventually(places, [2, 2]);
      await tell("python-aiohttp", [5_000]);
      await eventually(places, [1]);
      await page.close();
    });

    test("the list of runs refreshes, and keeps the filter and the marks", async () => {
      server.asked.length = 0;
      const { page, said } = await browser.visit(`${server.address}/`, { width });
      const [last] = ids as [string];
      await page.locator(".told").first().waitFor();
      assert.equal(server.asked.filter((path) => path === "/api/answers").length, 1);
      assert.equal(server.asked.filter((path) => path.endsWith("/answer")).length, 0);
      await page.getByLabel("Find").fill("leads");
      await page.getByText(`${ids.length} runs`).waitFor();
      await page.getByLabel(`Compare ${last}`).check();
      const added = { ...served.runs[0], id: "added", label: null };
      server.answers.set("/api/runs", [added, ...served.runs]);
      server.answers.set("/api/answers", [{ run: "added", answer: "the new one leads", more: 0 }, ...all]);
      await page.getByText("the new one leads").waitFor();
      assert.ok(await page.getByLabel(`Compare ${last}`).isChecked());
      assert.equal(await page.getByLabel("Find").inputValue(), "leads");
      // The address has both.
      await eventually(async () => new URL(page.url()).hash, `#find=leads&mark=${last}`);
      await page.reload();
      await page.getByLabel(`Compare ${last}`).waitFor();
      assert.ok(await page.getByLabel(`Compare ${last}`).isChecked());
      assert.ok((await widthOf(page)) <= width);
      server.answers.set("/api/runs", served.runs);
      server.answers.set("/api/answers", all);
      assert.deepEqual(own(said), []);
      await page.close();
    });

    test("an address that is no text, and one without a page, are said to be so", async () => {
      for (const path of ["/run/%E0%A4%A", "/foo"]) {
        const { page, said } = await browser.visit(`${server.address}${path}`, { width });
        assert.equal(await page.locator("h1").innerText(), "This page does not exist");
        assert.ok(await page.getByRole("link", { name: "Runs" }).isVisible());
        assert.deepEqual(said, []);
        await page.close();
      }
    });
  });

test("seven tabs do not block each other: a hidden one has no connection", async () => {
  const pages: Page[] = [];
  const hide = (page: Page, hidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  for (let tab = 0; tab < 7; tab += 1) {
    const { page } = await openRun(1400);
    await hide(page, true);
    await eventually(async () => server.listening, 0);
    pages.push(page);
  }
  await hide(pages[0]!, false);
  await eventually(async () => server.listening, 1);
  server.tell(news("python-aiohttp", 5_000));
  await pages[0]!.getByText(/python-aiohttp/).first().waitFor();
  for (const page of pages) await page.close();
});
