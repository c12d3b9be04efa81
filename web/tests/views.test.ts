// The content of the ranking, and the URL that keeps it, on a phone, a tablet and a wide screen.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { Browser, drawAll, eventually, violations } from "./browser.ts";
import { inTurns, synthetic } from "./synthetic.ts";

const SMALL = { services: 9, contracts: ["hello", "sequence"] };
const WIDTHS = [360, 800, 1600];

let browser: Browser;

before(async () => {
  browser = await Browser.start();
});

after(() => browser.stop());

const fits = async (page: Page, width: number): Promise<void> => {
  const needed = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(needed <= width, `the page is ${needed} px wide, and the screen ${width}`);
};

const row = (page: Page, service: string) => page.locator(`tr[data-service="${service}"]`);
const hash = (page: Page): Promise<string> => page.evaluate(() => location.hash);

for (const width of WIDTHS) {
  describe(`at ${width} px`, () => {
    test("each row shows its trials as dots, its share of the best, and its rank as a range", async () => {
      const { page, said } = await browser.open(synthetic(SMALL), { width });
      const first = row(page, "rust-axum/current");
      const track = first.locator("td.figure").first().locator(".track");
      const drawn = await track.evaluate((one) => getComputedStyle(one).backgroundImage);
      assert.equal(drawn.match(/radial-gradient/g)?.length, 5, drawn);
      assert.equal(drawn.match(/linear-gradient/g)?.length, 3, drawn);
      const box = await first.locator(".track").first().boundingBox();
      assert.ok(box && box.width > 40 && box.height >= 10, JSON.stringify(box));
      assert.match(await first.innerText(), /100 % of the best/);
      assert.match(await row(page, "python-aiohttp/current").innerText(), /\d\d % of the best/);
      const ranks = await page.locator("tr[data-service] td.rank").allInnerTexts();
      assert.ok(ranks.some((rank) => /^\d–\d/.test(rank.trim())), ranks.join(" | "));
      await fits(page, width);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("a number in doubt is marked, and a note marks none", async () => {
      const report = synthetic(SMALL);
      const rows = report.groups[0]!.services;
      rows[1]!.warnings = [{ kind: "littles_law", text: "126 of 512 requests were under way", level: "warning", affects: ["times"] }];
      rows[3]!.warnings = [{ kind: "missing_header", text: "no Date header", level: "note", affects: [] }];
      const { page, said } = await browser.open(report, { width });
      const marked = (at: number) => row(page, `${rows[at]!.service}/${rows[at]!.variant}`);
      const cells = await marked(1).locator("td.figure").allInnerTexts();
      const heads = await page.locator(".ranking > thead th.figure").allInnerTexts();
      heads.forEach((head, at) => assert.equal(cells[at]!.includes("in doubt: littles law"), /p50|p99/.test(head), `${head}: ${cells[at]}`));
      assert.equal(await marked(3).locator(".doubted").count(), 0);
      assert.match(await marked(3).locator(".more").innerText(), /1 note/);
      // By the keyboard alone.
      await marked(1).locator(".more button").focus();
      await page.keyboard.press("Enter");
      assert.match(await page.locator(".detail-row .doubt").innerText(), /littles law: 126 of 512 .* Affects response times\./s);
      await marked(3).locator(".more button").focus();
      await page.keyboard.press("Enter");
      assert.match(await page.locator(".detail-row .note-level").innerText(), /note: missing header/);
      await fits(page, width);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("the details show the rank in words, ties with other services, and the source", async () => {
      const report = synthetic(SMALL);
      const [upper, lower] = report.groups[0]!.services.flatMap((one, at, all) => (one.rank_low !== one.rank_high && one.rank_high !== null ? [[one, all[at + 1]!]] : [])).at(0)!;
      const { page } = await browser.open(report, { width });
      const opener = row(page, `${upper!.service}/${upper!.variant}`).locator(".more button");
      // As touching it does.
      await opener.dispatchEvent("click");
      const details = page.locator(".detail-row");
      const text = await details.innerText();
      assert.match(text, new RegExp(`between ${upper!.rank_low} and ${upper!.rank_high}`));
      const tied = report.services.find((info) => info.service === lower!.service)!.title;
      assert.match(text, new RegExp(`Statistically tied with\\s+${tied.replaceAll(".", "\\.")}`));
      assert.equal(
        await details.locator("dl").getByRole("link").getAttribute("href"),
        `https://git.example/prony/prony/tree/0123abcd4567/services/${upper!.service}`,
      );
      await fits(page, width);
      assert.deepEqual(await violations(page), []);
      await page.close();
    });

    test("the heading stays in sight", async () => {
      const { page } = await browser.open(synthetic(SMALL), { width, height: 640 });
      await row(page, "python-aiohttp/current").evaluate((one) => one.scrollIntoView({ block: "center" }));
      const top = await page.locator(".ranking > thead th").nth(1).evaluate((one) => one.getBoundingClientRect().top);
      assert.ok(Math.abs(top) < 1, `the heading is at ${top} px`);
      await page.close();
    });

    test("a link shows what its sender saw", async () => {
      const { page, said } = await browser.open(synthetic({ ...SMALL, workloads: ["getPerson", "listPersons", "createPerson"] }), { width });
      const before = page.url();
      assert.equal(await hash(page), "");
      await page.getByRole("radio", { name: "person · getPerson" }).check({ force: true });
      await page.getByLabel("Language").selectOption("Go");
      await page.getByLabel("Find").fill("go");
      await page.getByRole("button", { name: "Service" }).click();
      await page.getByRole("button", { name: "Service" }).click();
      await page.getByLabel("Metric").selectOption("response_time_ns_p99");
      await page.getByLabel("Second").selectOption("java-netty/current");
      const wanted = "#group=person%2FgetPerson%2Fclosed+loop%2C+64+connections&find=go&language=Go&sort=-service&metric=response_time_ns_p99&a=rust-axum%2Fcurrent&b=java-netty%2Fcurrent";
      const a = await page.getByLabel("First").inputValue();
      await eventually(() => hash(page), wanted.replace("rust-axum%2Fcurrent", encodeURIComponent(a)));
      const shown = async (one: Page) => ({
        names: await one.locator(".ranking .name").allInnerTexts(),
        language: await one.getByLabel("Language").inputValue(),
        sorted: await one.locator('.ranking th[aria-sort="descending"]').innerText(),
        metric: await one.getByLabel("Metric").inputValue(),
        pair: [await one.getByLabel("First").inputValue(), await one.getByLabel("Second").inputValue()],
        group: await one.locator(".tabs .chosen").innerText(),
      });
      const other = await browser.visit(page.url(), { width });
      assert.deepEqual(await shown(other.page), await shown(page));
      // The skip link does not change the view.
      await page.locator(".skip").focus();
      await page.keyboard.press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
      assert.match(await hash(page), /language=Go/);
      // Invalid parts of a URL get their defaults.
      const wrong = await browser.visit(`${before}#sort=-invalid&metric=<b>&a=unknown&group=none`, { width });
      assert.equal(await wrong.page.locator("tr[data-service]").count(), 9);
      assert.deepEqual([...said, ...other.said, ...wrong.said], []);
      for (const one of [page, other.page, wrong.page]) await one.close();
    });

    test("two picked services are shown side by side, with their ratio and both over time", async () => {
      const { page, said } = await browser.open(synthetic(SMALL), { width });
      const duel = page.locator("section[aria-labelledby=duel]");
      await duel.getByLabel("First").selectOption("rust-axum/current");
      await duel.getByLabel("Second").selectOption("python-aiohttp/current");
      assert.match(await duel.locator(".duel").innerText(), /of axum is \d+\.\d\d–\d+\.\d\d × that of aiohttp, most likely \d+\.\d\d ×: axum is better\./);
      assert.equal(await duel.locator(".ratio-line .one").count(), 1);
      await duel.getByLabel("First").selectOption("python-aiohttp/current");
      assert.match(await duel.locator(".duel").innerText(), /of aiohttp is 0\.\d\d–0\.\d\d × that of axum.*aiohttp is worse/s);
      await drawAll(page);
      const figure = page.locator("#chart-over-each-other");
      assert.match(await figure.locator("h3").innerText(), /aiohttp and axum over time/);
      const [download] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: "as SVG" }).click()]);
      assert.ok(await download.path());
      await fits(page, width);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("several numbers of connections are one chart, with a line per service", async () => {
      const { page, said } = await browser.open(synthetic({ services: 5, contracts: ["hello"], levels: [16, 256, 1024] }), { width });
      await drawAll(page);
      for (const metric of ["throughput_per_s", "response_time_ns_p99"]) {
        const figure = page.locator(`#chart-levels-${metric}`);
        await figure.locator("summary").click();
        await figure.locator("tbody tr").first().waitFor();
        const heads = await figure.locator("thead th").allInnerTexts();
        assert.deepEqual(heads.map((head) => /(\d+) connections/.exec(head)?.[1]), [undefined, "16", "64", "256", "1024"]);
        assert.equal(await figure.locator("tbody tr").count(), 4);
      }
      await fits(page, width);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("several rates are one chart, with a line per service", async () => {
      const { page, said } = await browser.open(synthetic({ services: 5, contracts: ["hello"], rates: [10_000, 30_000] }), { width });
      await drawAll(page);
      const figure = page.locator("#chart-capacity");
      await figure.locator("summary").click();
      await figure.locator("tbody tr").first().waitFor();
      const heads = await figure.locator("thead th").allInnerTexts();
      assert.deepEqual(heads.map((head) => /([\d,]+)\/s offered/.exec(head)?.[1]), [undefined, "10,000", "30,000"]);
      assert.equal(await figure.locator("tbody tr").count(), 4);
      await fits(page, width);
      assert.deepEqual(said, []);
      await page.close();
    });

    test("an interleaved ranking has a chart of ratios with 1 marked", async () => {
      const { page, said } = await browser.open(inTurns(synthetic(SMALL)), { width });
      await drawAll(page);
      const figure = page.locator("#chart-ratios");
      assert.match(await figure.innerText(), /CPU per request, times that of axum/i);
      await figure.locator("summary").click();
      await figure.locator("tbody tr").first().waitFor();
      const rows = await figure.locator("tbody tr").allInnerTexts();
      assert.match(rows[0]!, /^axum\s+1\.00\s+1\.00\s+1\.00/);
      assert.equal(rows.length, 8);
      await fits(page, width);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(said, []);
      await page.close();
    });
  });
}

describe("the source of a service", () => {
  test("is a path alone without a repository, and never a link that runs something", async () => {
    for (const repository of [undefined, "javascript:document.title='harmed'//"]) {
      const report = synthetic(SMALL);
      if (repository === undefined) delete report.environment.repository;
      else report.environment.repository = repository;
      const { page } = await browser.open(report);
      await page.locator(".ranking .more button").first().click();
      assert.match(await page.locator(".detail-row").innerText(), /services\/rust-axum, commit 0123abcd4567/);
      assert.equal(await page.locator(".detail-row dl a").count(), 0);
      await page.close();
    }
  });
});

describe("contrast", () => {
  for (const width of WIDTHS)
    test(`is enough in the dark at ${width} px`, async () => {
      const { page } = await browser.open(synthetic(SMALL), { width, dark: true });
      await drawAll(page);
      await page.locator(".ranking .more button").nth(2).click();
      assert.deepEqual(await violations(page), []);
      await page.close();
    });
});
