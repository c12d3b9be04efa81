// How values are shown with their intervals.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readFileSync } from "node:fs";
import { digits, intervalWithUnit, percent, percentileName, ratio, unitFor } from "../src/format.ts";

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

const CASES = JSON.parse(readFileSync(new URL("number-cases.json", import.meta.url), "utf8")) as Record<string, [number, string][]>;

test("hundreds of numbers of all sizes are shown as prony shows them", () => {
  // A Rust test writes the file from its own rule.
  for (const [kind, show] of Object.entries({ digits, percent, ratio })) {
    assert.ok(CASES[kind]!.length >= 300);
    for (const [value, text] of CASES[kind]!) assert.equal(show(value), text, `${kind} of ${value}`);
  }
});

/** Numbers from 0 to 1, always the same. */
function* draws(count: number): Generator<number> {
  let state = 20261127;
  for (let at = 0; at < count; at += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

const read = (text: string): number => Number(text.replace(/ %$/, "").replaceAll(",", ""));

test("three digits are within half a percent, and no share below one is 100 %", () => {
  for (const draw of draws(2000)) {
    const value = 0.05 * 10 ** (13 * draw);
    assert.ok(Math.abs(read(digits(value)) / value - 1) <= 0.00501, String(value));
    const share = 1 - 10 ** (-12 * draw);
    assert.ok(read(percent(share)) < 100, String(share));
  }
});

test("a larger share is never shown as less", () => {
  const shares = [...draws(2000)].map((draw) => 1.2 * draw).sort((left, right) => left - right);
  const shown = shares.map((share) => read(percent(share)));
  assert.ok(shown.every((value, at) => at === 0 || value >= shown[at - 1]!));
});

test("a percentile below the maximum is never p100", () => {
  for (const [share, name] of [[0, "0"], [0.5, "p50"], [0.9, "p90"], [0.9874, "p98.7"], [0.99, "p99"], [0.9937, "p99.37"], [0.996019, "p99.6"], [0.999, "p99.9"], [0.999602, "p99.96"], [0.9999, "p99.99"], [1, "p100"]] as const)
    assert.equal(percentileName(share), name);
  for (const draw of draws(2000)) {
    const share = 1 - 10 ** (-7 * draw - 1e-3);
    const named = Number(percentileName(share).slice(1));
    assert.ok(named < 100 && Math.abs(named - 100 * share) <= 0.1 * (100 - 100 * share) + 0.5, `${share}: ${named}`);
  }
});
