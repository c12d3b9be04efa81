// The served pages in a real browser: runs, a run in progress, history, comparison.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import type { Report } from "../src/data.ts";
import { Browser, drawAll, eventually, violations } from "./browser.ts";
import { FakeServer } from "./server.ts";
import { synthetic } from "./synthetic.ts";

/** What `prony serve` answers for made-up runs; a Rust test keeps it current. */
const served = JSON.parse(readFileSync(new URL("served.json", import.meta.url), "utf8"));
const [FIRST, LAST] = ["2026-11-01T08-30-00-sample", "2026-11-08T08-30-00-sample"];

let browser: Browser;
let server: FakeServer;

before(async () => {
  [browser, server] = [await Browser.start(), await FakeServer.start()];
  server.answers.set("/api/runs", served.runs);
  for (const run of served.runs) server.answers.set(`/api/runs/${run.id}/answer`, run.id === LAST ? served.answer : { answer: null, more: 0 });
  server.answers.set("/api/services", served.services);
  server.answers.set("/api/history?service=rust-axum&variant=current&contract=hello", served.history);
  server.answers.set(`/api/compare?a=${FIRST}&b=${LAST}`, served.compare);
});

after(async () => {
  await browser.stop();
  await server.stop();
});

const news = (trials: number, running: boolean, throughput: number, lab: object = {}) => ({
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
    ...lab,
  },
});

describe("a run in progress", () => {
  test("is shown as it goes, and ends as a report", async () => {
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

  test("names the hosts of a lab with what each does", async () => {
    const report: Report = { ...synthetic({ services: 3, contracts: ["hello"] }), state: "running", ended_at: null };
    const host = (...roles: string[]) => ({ roles, address: "10.0.0.7", cpus: [0, 1], environment: { ...report.environment, hosts: {} } });
    report.environment = { ...report.environment, hosts: { app: host("service"), one: host("load"), two: host("load", "companion") } };
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
    assert.deepEqual(rows, ["app | service | runs the service | –", "one | load | measurement | 31,000/s", "two | load and companion | silent | –"]);
    assert.match(await hosts.getByRole("alert").innerText(), /lost the connection to two/);
    assert.deepEqual(await violations(page), []);
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
    assert.match(await last.locator(".told").innerText(), /^axum is fastest: .* and 1 more board$/);
    for (const width of [360, 800, 1600]) {
      await page.setViewportSize({ width, height: 900 });
      const needed = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(needed <= width, `the list is ${needed} px wide at ${width} px`);
    }
    await page.getByLabel("Find").fill("axum is fastest");
    await page.getByText("1 of 8 runs").waitFor();
    await page.getByLabel("Find").fill("");
    assert.deepEqual(await violations(page), []);
    await page.getByLabel(`Compare ${LAST}`).check();
    await page.getByLabel(`Compare ${FIRST}`).check();
    await page.getByRole("link", { name: /^Compare/ }).click();
    await page.waitForSelector(".changes");
    assert.match(page.url(), new RegExp(`a=${FIRST}&b=${LAST}$`));
    assert.match(await page.locator(".answer").innerText(), /\d+ worse, 0 better/);
    const goodput = page.locator(".changes tr.first").first();
    assert.match(await goodput.innerText(), /0\.79–0\.81 × worse/);
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(said, []);
    await page.close();
  });

  test("show the history of a service with its change point", async () => {
    const { page, said } = await browser.visit(`${server.address}/service/rust-axum/current/hello`);
    await drawAll(page);
    assert.match(await page.locator("#chart-history-goodput_per_s").first().innerText(), /a dashed line stands where the level changed/);
    assert.deepEqual(await violations(page), []);
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
