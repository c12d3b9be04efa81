// The printed page: a PDF made right after loading has every ranking, every row and every chart.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import type { Report } from "../src/data.ts";
import { Browser } from "./browser.ts";
import { chartsIn } from "./pdf.ts";
import { inTurns, synthetic } from "./synthetic.ts";

const SMALL = { services: 9, contracts: ["hello", "sequence"], rates: [10_000, 30_000], workloads: ["getPerson", "listPersons", "createPerson"] };

let browser: Browser;

before(async () => {
  browser = await Browser.start();
});

after(() => browser.stop());

/** The page while it is printed. */
const printed = (page: Page) => page.evaluate(() => dispatchEvent(new Event("beforeprint")));

/** Titles and heights of the charts of the printed page. */
async function expectedCharts(report: Report): Promise<Map<string, number>> {
  const { page } = await browser.open(report);
  await printed(page);
  const all = await page.locator("figure.chart").evaluateAll((figures) =>
    figures.map((figure, index): [string, number] => [`${index} ${figure.querySelector("h3")!.textContent}`, figure.querySelector(".canvas")!.clientHeight]),
  );
  await page.close();
  return new Map(all);
}

for (const [what, report] of [
  ["closed and open loads", synthetic(SMALL)],
  ["an interleaved ranking", inTurns(synthetic({ services: 9, contracts: ["hello"] }))],
  ["charts longer than a page", synthetic({ services: 75, contracts: ["hello"] })],
] as const) {
  test(`a PDF of ${what} has every chart`, async () => {
    const wanted = await expectedCharts(report);
    assert.ok(wanted.size > 5);
    const { page, said } = await browser.open(report, { dark: true });
    const charts = chartsIn(await page.pdf({ format: "A4" }));
    for (const height of new Set(wanted.values())) {
      const count = (all: number[]) => all.filter((one) => Math.abs(one - height) < 1).length;
      const [found, needed] = [count(charts), count([...wanted.values()])];
      assert.ok(found >= needed, `${found} of ${needed} charts are ${height} px high: ${[...wanted].filter(([, one]) => one === height).join("; ")}`);
    }
    assert.deepEqual(said, []);
    await page.close();
  });
}

test("every ranking is printed with all of its rows, selected or not, and the page returns", async () => {
  const report = synthetic({ services: 75, contracts: ["hello", "sequence", "snoop"] });
  const { page } = await browser.open(report, { dark: true });
  await page.getByRole("radio", { name: "sequence" }).check({ force: true });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.equal(await page.locator("table.ranking").count(), 1);
  await printed(page);
  assert.equal(await page.locator("table.ranking").count(), 3);
  assert.equal(await page.locator("tr[data-service]").count(), 3 * 75);
  assert.deepEqual(await page.locator(".group-name").allInnerTexts(), ["sequence", "hello", "snoop"], "the selected one first");
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  assert.equal(await page.locator(".filters, .exports, .more").filter({ visible: true }).count(), 0);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator("table.ranking").count(), 1);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(23, 27, 32)");
  await page.close();
});
