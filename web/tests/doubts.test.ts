// What a warning puts in doubt: the page says the same as every other form of a report. A Rust test reads the same table.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { METRICS, type Group, type Metric, type Row, type Warning } from "../src/data.ts";
import { doubtedBy, levelOf, ownWarnings } from "../src/doubts.ts";

interface Cases {
  sets: Record<string, Metric[]>;
  /** The sets that a warning of each kind puts in doubt. */
  doubted: Record<string, string[]>;
  said: { what: string; group: Warning[]; generator_bound: boolean; warning: Warning; for_all: boolean }[];
}

const cases = JSON.parse(readFileSync(new URL("doubts.json", import.meta.url), "utf8")) as Cases;

test("each kind doubts what the table says", () => {
  assert.deepEqual(new Set(cases.sets["all"]), new Set(METRICS));
  for (const [kind, sets] of Object.entries(cases.doubted)) {
    const wanted = new Set(sets.flatMap((set) => cases.sets[set]!));
    const warning = { kind, text: "" };
    assert.deepEqual(new Set(doubtedBy(warning)), wanted, kind);
    assert.equal(levelOf(warning), wanted.size > 0 ? "doubt" : "note", kind);
  }
});

test("what is said for all services is as the table says", () => {
  for (const { what, group, generator_bound, warning, for_all } of cases.said) {
    const own = ownWarnings({ warnings: group } as Group, { generator_bound, warnings: [warning] } as Row);
    assert.equal(own.length === 0, for_all, what);
  }
});
