// How values are shown with their intervals.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readFileSync } from "node:fs";
import { digits, intervalWithUnit, percent, ratio, unitFor } from "../src/format.ts";

const shown = (point: number, low: number, high: number) => intervalWithUnit({ point, low, high }, unitFor("rate", [point]));

test("an interval is shown by what it says", () => {
  assert.equal(shown(72_086, 70_428, 73_744), "72,086/s ±2.3 %");
  assert.equal(shown(100, 95, 110), "95.0–110/s", "its sides differ");
  assert.equal(shown(52_219, 30_909, 88_219), "30,909–88,219/s");
  assert.equal(shown(8.28, 3.5, 19.7), "unknown");
  assert.equal(shown(5, 5, 5), "5.00/s ±0.00 %");
});

test("numbers are rounded as in every other format", () => {
  // A Rust test reads the same file.
  const numbers = JSON.parse(readFileSync(new URL("numbers.json", import.meta.url), "utf8")) as Record<string, [number, string][]>;
  for (const [kind, show] of Object.entries({ digits, percent, ratio }))
    for (const [value, text] of numbers[kind]!) assert.equal(show(value), text, `${kind} of ${value}`);
});
