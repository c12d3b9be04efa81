// What a PDF of the browser contains, without a library: the drawings of its pages.

import { inflateSync } from "node:zlib";

/** Width of a chart on paper, px. */
const CHART_WIDTH = 680;

/** The instructions that draw the pages, without pictures and fonts. */
export function drawingsIn(pdf: Buffer): string {
  const text = pdf.toString("latin1");
  const drawings: string[] = [];
  for (const { index } of text.matchAll(/\bstream\r?\n/g)) {
    const dictionary = text.slice(text.lastIndexOf(" obj", index), index);
    const length = Number(/\/Length (\d+)/.exec(dictionary)?.[1]);
    if (!(length > 0) || /\/Subtype \/Image|\/FontFile|\/Length1/.test(dictionary)) continue;
    const start = text.indexOf("\n", index) + 1;
    const raw = pdf.subarray(start, start + length);
    drawings.push((dictionary.includes("/FlateDecode") ? inflateSync(raw) : raw).toString("latin1"));
  }
  return drawings.join("\n");
}

/** The height of each chart in a PDF that is not blank. Each begins with its background, and has texts in several colours. */
export function chartsIn(pdf: Buffer): number[] {
  const [, ...parts] = drawingsIn(pdf).split(new RegExp(`^0 0 ${CHART_WIDTH} (?=[\\d.]+ re$)`, "m"));
  const colours = (part: string) => new Set(part.match(/[\d.]+ [\d.]+ [\d.]+ (rg|RG)\b/g)).size;
  const texts = (part: string) => part.match(/ Tj\b/g)?.length ?? 0;
  return parts.filter((part) => colours(part) > 3 && texts(part) > 3).map((part) => Number.parseFloat(part));
}

/** Whether something is filled or stroked in this colour, such as `#bcd7ec`. */
export function hasColour(pdf: Buffer, colour: string): boolean {
  const parts = [1, 3, 5].map((at) => String(Math.round((Number.parseInt(colour.slice(at, at + 2), 16) / 255) * 1e4) / 1e4).replace(/^0\./, "."));
  return new RegExp(`(^|\\s)${parts.join(" ").replaceAll(".", "\\.")} (rg|RG)\\b`, "m").test(drawingsIn(pdf));
}
