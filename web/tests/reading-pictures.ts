// The pictures of docs/READING.md, and the first one of the README, from pages that prony wrote for real runs:
//   npm run pictures-of-reading -- [--page PAGE.html] [--limited PAGE.html] [--out FOLDER]
// The fourth shows a row that the generator limited, which few runs have: --limited names its page. All others come
// from --page.

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Locator, Page } from "playwright-core";
import { Browser, drawAll, reportIn } from "./browser.ts";

const text = { type: "string" } as const;
const { page: file, limited, out } = parseArgs({ options: { page: text, limited: text, out: text } }).values;
if (!file && !limited) throw new Error("name a page with --page or --limited: `prony report --format html` writes one");
const OUT = out ? `${out}/` : fileURLToPath(new URL("../../docs/images/", import.meta.url));
const [WIDTH, MARGIN] = [1280, 16];

/** Captures the page from the top of one element to the end of another, with the width of the page or of both elements. */
async function part(name: string, from: Locator, to: Locator, narrow = false): Promise<void> {
  if ((await from.count()) === 0 || (await to.count()) === 0) throw new Error(`${name}: the page has no such part`);
  // From the top of the page: a heading that stays visible would cover the rows.
  await from.page().evaluate(() => scrollTo(0, 0));
  const [first, last] = [(await from.first().boundingBox())!, (await to.first().boundingBox())!];
  const left = narrow ? Math.min(first.x, last.x) - MARGIN : 0;
  const right = narrow ? Math.max(first.x + first.width, last.x + last.width) + MARGIN : WIDTH;
  const top = first.y - MARGIN;
  const clip = { x: Math.max(0, left), y: Math.max(0, top), width: right - Math.max(0, left), height: last.y + last.height + MARGIN - top };
  await from.page().screenshot({ path: `${OUT}reading-${name}.png`, fullPage: true, clip });
}

const rowsOf = (page: Page) => page.locator(".ranking > tbody > tr[data-service]");

async function whole(page: Page): Promise<void> {
  await page.screenshot({ path: `${OUT}report.png` });
  const ranked = rowsOf(page).filter({ hasNot: page.locator("td.rank .hidden") });
  const figure = (id: string) => page.locator(`#chart-${id}`);
  await part("1-answer", page.locator(".masthead"), page.locator(".answer"));
  await part("2-ranks", ranked.nth(0), ranked.nth(5));
  await part("3-number", ranked.nth(0).locator("td.figure").first(), ranked.nth(0).locator("td.figure").nth(2), true);
  const doubted = ranked.filter({ has: page.locator(".doubted") }).first();
  await doubted.locator(".more button").click();
  await part("5-doubt", doubted, page.locator(".detail-row .detail-columns"));
  await doubted.locator(".more button").click();
  await drawAll(page);
  await part("6-bars", figure("bars-goodput_per_s"), figure("bars-goodput_per_s"));
  await part("7-percentiles", figure("percentiles"), figure("percentiles"), true);
  await part("8-over-time", figure("over-time"), figure("over-time"));
  await part("9-pairs", page.locator("#pairs"), page.locator("section[aria-labelledby=pairs] .scroll"));
  await part("10-duel", page.locator("#duel"), page.locator(".duel"));
}

/** The row under the headings, and the next one, which has a rank. */
async function limit(page: Page): Promise<void> {
  const row = rowsOf(page).filter({ hasText: "generator’s limit" }).first();
  await part("4-limit", page.locator(".ranking > thead"), row.locator("xpath=following-sibling::tr[@data-service][1]"));
}

mkdirSync(OUT, { recursive: true });
const browser = await Browser.start();
for (const [name, take] of [[file, whole], [limited, limit]] as const) {
  if (name) await take((await browser.open(reportIn(name), { width: WIDTH, height: 980 })).page);
}
await browser.stop();
