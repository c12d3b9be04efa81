// The served pages in a real browser: runs, a run in progress, history, comparison.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import type { Report } from "../src/data.ts";
import { Browser, drawAll, eventually, violations } from "./browser.ts";
import { chartsIn } from "./pdf.ts";
import { FakeServer } from "./server.ts";
import { synthetic } from "./synthetic.ts";

/** The answers of `prony serve` for made-up runs; a Rust test keeps them current. */
const served = JSON.parse(readFileSync(new URL("served.json", import.meta.url), "utf8"));
const [FIRST, LAST] = ["2026-11-01T08-30-00-sample", "2026-11-08T08-30-00-sample"];

let browser: Browser;
let server: FakeServer;

before(async () => {
  [browser, server] = [await Browser.start(), await FakeServer.start()];
  server.answers.set("/api/rights", served.rights);
  server.answers.set("/api/runs", served.runs);
  server.answers.set("/api/answers", served.runs.map((run: { id: string }) => ({ run: run.id, ...(run.id === LAST ? served.answer : { answer: null, more: 0 }) })));
  server.answers.set("/api/changes?service=rust-axum&variant=current&contract=hello", []);
  server.answers.set("/api/services", served.services);
  server.answers.set("/api/history?service=rust-axum&variant=current&contract=hello", served.history);
  server.answers.set(`/api/compare?a=${FIRST}&b=${LAST}`, served.compare);
  for (const run of [FIRST, LAST]) server.answers.set(`/api/runs/${run}`, synthetic({ services: 3, contracts: ["hello"] }));
});

after(async () => {
  await browser.stop();
  await server.stop();
});

/** On a phone, a tablet and a wide screen. */
const WIDTHS = [360, 800, 1600];

/** Checks that nothing is wider than any of these screens, except content that scrolls by itself. */
async function fits(page: Page): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    // Charts are redrawn once their frame has become narrower.
    await eventually(() => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0);
    assert.deepEqual(await violations(page), []);
  }
}

const news = (trials: number, running: boolean, throughput: number, testbed: object = {}) => ({
  running,
  trials,
  sequence: trials,
  progress: {
    at: `2026-11-21T08:30:${String(trials).padStart(2, "0")}Z`,
    done: trials,
    planned: 45,
    eta_s: 125,
    service: { service: "go-gorilla", variant: "current" },
    contract: "hello",
    workload: "hello",
    step: null,
    phase: "warm_up",
    throughput_per_s: throughput,
    response_time_ns_p99: 2_400_000,
    workers: [],
    lost: null,
    ...testbed,
  },
});

describe("a run in progress", () => {
  test("is shown while it runs, and ends as a report", async () => {
    const report: Report = { ...synthetic({ services: 3, contracts: ["hello"] }), state: "running", ended_at: null, trials: 3 };
    const place = `/api/runs/${report.run}`;
    server.answers.set(place, report);
    const { page, said } = await browser.visit(`${server.address}/run/${report.run}`);
    await eventually(async () => server.listening, 1);
    server.tell(news(3, true, 51_000));
    const now = page.locator(".now");
    await now.waitFor();
    assert.match(await now.innerText(), /3 of 15 trials/);
    assert.match(await now.innerText(), /about 2 min left/);
    assert.match(await now.innerText(), /go-gorilla\/current · hello · warm up/);
    assert.match(await now.innerText(), /51,000\/s/);
    assert.equal(await page.locator(".ranking > tbody > tr[data-service]").count(), 3);

    const grown: Report = { ...synthetic({ services: 5, contracts: ["hello"] }), state: "running", ended_at: null, trials: 9 };
    server.answers.set(place, grown);
    server.tell(news(9, true, 62_000));
    await eventually(() => page.locator(".ranking > tbody > tr[data-service]").count(), 5);
    assert.match(await now.innerText(), /62,000\/s/);

    server.answers.set(place, { ...grown, state: "ended", ended_at: "2026-11-21T08:36:40Z" });
    server.tell(news(15, false, 62_000));
    await eventually(() => now.count(), 0);
    await eventually(async () => server.listening, 0);
    assert.deepEqual(said, []);
    await page.close();
  });

  test("names the hosts of a testbed with their state", async () => {
    const report: Report = { ...synthetic({ services: 3, contracts: ["hello"] }), state: "running", ended_at: null };
    const host = (...roles: string[]) => ({ roles, address: "10.0.0.7", cpus: [0, 1], environment: { ...report.environment, hosts: {} } });
    report.environment = { ...report.environment, hosts: { app: host("service"), one: host("load"), two: host("load", "backing service") } };
    server.answers.set(`/api/runs/${report.run}`, report);
    const { page, said } = await browser.visit(`${server.address}/run/${report.run}`);
    await eventually(async () => server.listening, 1);
    const workers = [
      { name: "one", state: "measurement", throughput_per_s: 31_000 },
      { name: "two", state: "silent", throughput_per_s: null },
    ];
    server.tell(news(3, true, 31_000, { workers, lost: "lost the connection to two" }));
    const hosts = page.locator(".now .hosts");
    await hosts.waitFor();
    const rows = (await hosts.locator("tbody tr").allInnerTexts()).map((row) => row.split(/\s*\t\s*/).join(" | "));
    assert.deepEqual(rows, ["app | service | runs the service | –", "one | load | measurement | 31,000/s", "two | load and backing service | silent | –"]);
    assert.match(await hosts.getByRole("alert").innerText(), /lost the connection to two/);
    await fits(page);
    assert.deepEqual(said, []);
    await page.close();
  });

  test("keeps what the reader chose while trials end", async () => {
    const report: Report = { ...synthetic({ services: 9, contracts: ["hello"] }), state: "running", ended_at: null };
    server.answers.set(`/api/runs/${report.run}`, report);
    const { page } = await browser.visit(`${server.address}/run/${report.run}`);
    await eventually(async () => server.listening, 1);
    await page.getByLabel("Language").selectOption("Go");
    await page.getByRole("button", { name: "Service" }).click();
    server.asked.length = 0;
    server.tell(news(20, true, 1));
    await eventually(async () => server.asked.includes(`/api/runs/${report.run}`), true);
    await page.locator(".now").waitFor();
    assert.deepEqual(await page.locator(".ranking .name").allInnerTexts(), ["Go net/http", "gorilla/mux"]);
    await page.close();
  });
});

describe("the other pages", () => {
  test("list the runs and lead to a comparison", async () => {
    const { page, said } = await browser.visit(`${server.address}/`);
    assert.equal(await page.locator(".runs tbody tr").count(), 8);
    const last = page.locator(".runs tbody tr", { hasText: LAST });
    assert.match(await last.innerText(), /sample · axum, Go net\/http, /);
    await last.locator(".told").waitFor();
    assert.match(await last.locator(".told").innerText(), /^axum leads: .* and 1 more ranking$/);
    await fits(page);
    await page.getByLabel("Find").fill("axum leads");
    await page.getByText("1 of 8 runs").waitFor();
    await page.getByLabel("Find").fill("");
    await page.getByLabel(`Compare ${LAST}`).check();
    await page.getByLabel(`Compare ${FIRST}`).check();
    await page.getByRole("link", { name: /^Compare/ }).click();
    await page.waitForSelector(".changes");
    assert.match(page.url(), new RegExp(`a=${FIRST}&b=${LAST}$`));
    assert.match(await page.locator(".answer").innerText(), /\d+ worse, 0 better/);
    const goodput = page.locator(".changes tr.first").first();
    assert.match(await goodput.innerText(), /0\.79–0\.81 × worse/);
    await fits(page);
    assert.deepEqual(said, []);
    await page.close();
  });

  for (const width of WIDTHS)
    test(`label and delete a run, at ${width} px`, async () => {
      server.changes.length = 0;
      const { page, said } = await browser.visit(`${server.address}/`, { width });
      const last = page.locator(".runs tbody tr", { hasText: LAST });
      const narrow = async () => {
        const needed = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(needed <= width, `the list is ${needed} px wide at ${width} px`);
        assert.deepEqual(await violations(page), []);
      };
      // By the keyboard alone: the field has the focus, and Escape leaves the label unchanged.
      const label = last.getByRole("button", { name: `Label ${LAST}` });
      await label.focus();
      await page.keyboard.press("Enter");
      await page.getByLabel(`Label of ${LAST}`).waitFor();
      await narrow();
      await page.keyboard.press("Escape");
      assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), `Label ${LAST}`);
      await page.keyboard.press("Enter");
      await page.getByLabel(`Label of ${LAST}`).waitFor();
      await page.keyboard.type("<b>before</b>");
      server.answers.set("/api/runs", served.runs.map((run: { id: string }) => (run.id === LAST ? { ...run, label: "<b>before</b>" } : run)));
      await page.keyboard.press("Enter");
      await last.getByRole("link", { name: "<b>before</b>" }).waitFor();
      assert.equal(await page.getByLabel(`Label of ${LAST}`).count(), 0);
      await page.getByLabel("Find").fill("<b>bef");
      await page.getByText("1 of 8 runs").waitFor();
      await page.getByLabel("Find").fill("");
      // A refusal is shown and changes nothing; keeping the run sends no request.
      const remove = last.getByRole("button", { name: `Delete ${LAST}` }).first();
      await remove.click();
      const asked = page.getByRole("group", { name: `Delete ${LAST}?` });
      assert.match(await asked.innerText(), /Delete <b>before<\/b> with its \d+ trials\? This cannot be undone\./);
      assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Keep it");
      await narrow();
      await page.keyboard.press("Enter");
      await eventually(() => asked.count(), 0);
      await remove.click();
      server.refusal = "the run is being measured";
      await asked.getByRole("button", { name: `Delete ${LAST}` }).click();
      assert.match(await asked.getByRole("alert").innerText(), /the run is being measured/);
      server.answers.set("/api/runs", served.runs.filter((run: { id: string }) => run.id !== LAST));
      await asked.getByRole("button", { name: `Delete ${LAST}` }).click();
      await page.getByText("7 runs").waitFor();
      assert.equal(await last.count(), 0);
      const own = { origin: server.address, body: "" };
      const gone = { what: `DELETE /api/runs/${LAST}`, ...own };
      assert.deepEqual(server.changes, [{ ...own, what: `PUT /api/runs/${LAST}/label`, body: JSON.stringify({ label: "<b>before</b>" }) }, gone, gone]);
      server.answers.set("/api/runs", served.runs);
      // The browser itself reports the refusal.
      assert.deepEqual(said.filter((line) => !line.includes("409")), []);
      await page.close();
    });

  test("change nothing without permission, and never delete a run in progress", async () => {
    const [first, ...others] = served.runs;
    server.answers.set("/api/runs", [{ ...first, running: true, ended_at: null }, ...others]);
    const { page } = await browser.visit(`${server.address}/`);
    const running = page.locator(".runs tbody tr", { hasText: first.id });
    await running.getByRole("button", { name: "Label" }).waitFor();
    assert.equal(await running.getByRole("button", { name: "Delete" }).count(), 0);
    server.answers.set("/api/rights", { change: false });
    await page.reload();
    await page.locator(".runs tbody tr").first().waitFor();
    assert.equal(await page.locator(".acts").count(), 0);
    server.answers.set("/api/runs", served.runs);
    server.answers.set("/api/rights", served.rights);
    await page.close();
  });

  test("name a run by its label", async () => {
    const report = { ...synthetic({ services: 3, contracts: ["hello"] }), label: "after the <i>fix</i>" };
    server.answers.set(`/api/runs/${report.run}`, report);
    const { page } = await browser.visit(`${server.address}/run/${report.run}`);
    assert.equal(await page.locator("h1").innerText(), "Suite quick: after the <i>fix</i>");
    await page.close();
  });

  test("show the history of a service with its change point", async () => {
    const { page, said } = await browser.visit(`${server.address}/service/rust-axum/current/hello`);
    await drawAll(page);
    assert.match(await page.locator("#chart-history-goodput_per_s").first().innerText(), /a dashed line marks where the level changed/);
    await fits(page);
    const figures = await page.locator("figure.chart").count();
    assert.ok(chartsIn(await page.pdf({ format: "A4" })).length >= figures, "a PDF has every chart");
    assert.deepEqual(said, []);
    await page.close();
  });

  test("say why something cannot be shown", async () => {
    const { page } = await browser.visit(`${server.address}/run/${encodeURIComponent("<img src=x onerror=alert(1)>")}`);
    assert.match(await page.getByRole("alert").innerText(), /there is no \/api\/runs\/<img/);
    assert.equal(await page.locator("main img").count(), 0);
    await page.close();
  });
});
