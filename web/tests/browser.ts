// A real browser on made-up pages. A machine without Chromium fails here, with the name of the missing program.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import axe from "axe-core";
import { chromium, type BrowserContext, type Page } from "playwright-core";
import type { Report } from "../src/data.ts";
import { pageWith } from "./synthetic.ts";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export const built = (): string => readFileSync(new URL("../dist/index.html", import.meta.url), "utf8");

/** The report in a page that prony wrote. */
export function reportIn(file: string): Report {
  const [, kind, data] = /<script id="prony-data" type="application\/(json|gzip)">([^<]*)</.exec(readFileSync(file, "utf8")) ?? [];
  if (!data || data === "null") throw new Error(`${file} has no report in it: \`prony report --format html\` writes such pages`);
  return JSON.parse(kind === "gzip" ? gunzipSync(Buffer.from(data, "base64")).toString() : data) as Report;
}

/** A browser with a new profile in a folder of its own, which also holds the pages. */
export class Browser {
  private constructor(
    readonly context: BrowserContext,
    readonly folder: string,
  ) {}

  static async start(): Promise<Browser> {
    if (!existsSync(CHROMIUM)) throw new Error(`no browser at ${CHROMIUM}: apt-get install chromium, or set CHROMIUM`);
    const folder = mkdtempSync(join(tmpdir(), "prony-page-"));
    const context = await chromium.launchPersistentContext(join(folder, "profile"), {
      executablePath: CHROMIUM,
      headless: true,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
      viewport: { width: 1280, height: 900 },
    });
    return new Browser(context, folder);
  }

  async stop(): Promise<void> {
    await this.context.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Writes a page with the report to disk; returns its URL, and its length in characters. */
  save(report: unknown): { address: string; length: number } {
    const file = join(this.folder, `${Math.random().toString(36).slice(2)}.html`);
    const text = pageWith(built(), report);
    writeFileSync(file, text);
    return { address: pathToFileURL(file).href, length: text.length };
  }

  /** Writes a page with the report to disk and opens it from there. */
  async open(report: unknown, look?: { width?: number; height?: number; dark?: boolean }): Promise<{ page: Page; said: string[] }> {
    return this.visit(this.save(report).address, look);
  }

  /** Opens a URL; `said` collects errors, and requests for anything but the page itself. */
  async visit(address: string, look?: { width?: number; height?: number; dark?: boolean }): Promise<{ page: Page; said: string[] }> {
    const page = await this.context.newPage();
    const said: string[] = [];
    page.on("console", (message) => message.type() === "error" && said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    await page.setViewportSize({ width: look?.width ?? 1280, height: look?.height ?? 900 });
    await page.emulateMedia({ colorScheme: look?.dark ? "dark" : "light" });
    await page.goto(address);
    await page.waitForSelector("h1");
    return { page, said };
  }
}

/** Scrolls through the page so that every chart is drawn. */
export async function drawAll(page: Page): Promise<void> {
  for (const figure of await page.locator("figure.chart").all()) {
    await figure.scrollIntoViewIfNeeded();
    await figure.locator("[data-drawn] canvas").first().waitFor();
  }
}

/** Repeats the question until it has the wanted answer, for up to ten seconds. */
export async function eventually<T>(question: () => Promise<T>, wanted: T): Promise<void> {
  const deadline = Date.now() + 10_000;
  let answer = await question();
  while (JSON.stringify(answer) !== JSON.stringify(wanted)) {
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(answer)}, not ${JSON.stringify(wanted)}`);
    await new Promise((done) => setTimeout(done, 50));
    answer = await question();
  }
}

/** The violations that axe, the accessibility checker, finds on the page in its current state. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const found = await (window as unknown as { axe: typeof axe }).axe.run(document);
    return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(", ")}`);
  });
}
