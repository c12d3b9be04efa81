// All pairs of services of a group: verdicts are looked up, ratios are computed on demand.

import type { Estimate, Group, PackedPairs, Verdict } from "./data.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT = new Map([...ALPHABET].map((letter, digit) => [letter, digit]));
const STEPS = 64 ** 3 - 1;
/** Limits of a half-width on the log scale, as prony encodes them. */
const SMALLEST = 1e-4;
const LARGEST = 10;

const VERDICT: Record<string, Verdict> = { f: "faster", s: "slower", e: "same", c: "cannot_tell" };
const REVERSED: Record<Verdict, Verdict> = { faster: "slower", slower: "faster", same: "same", cannot_tell: "cannot_tell" };

/** One service relative to another: its value divided by that of the other. */
export interface Side extends Estimate {
  verdict: Verdict;
}

export class Comparisons {
  private readonly place: Map<string, number>;

  constructor(private readonly packed: PackedPairs) {
    this.place = new Map(packed.ids.map((id, index) => [id, index]));
  }

  /** Whether there are any pairs. */
  get some(): boolean {
    return this.packed.ids.length > 1;
  }

  has(id: string): boolean {
    return this.place.has(id);
  }

  /** The value of `a` divided by that of `b`; null if they were not compared. */
  of(a: string, b: string): Side | null {
    const [i, j] = [this.place.get(a), this.place.get(b)];
    if (i === undefined || j === undefined || i === j) return null;
    const [left, right] = i < j ? [i, j] : [j, i];
    const at = (left * (2 * this.packed.ids.length - left - 1)) / 2 + right - left - 1;
    const verdict = VERDICT[this.packed.verdicts[at] ?? "."];
    if (!verdict) return null;
    const half = this.half(at);
    const log = this.packed.logs[i]! - this.packed.logs[j]!;
    return { point: Math.exp(log), low: Math.exp(log - half), high: Math.exp(log + half), verdict: i < j ? verdict : REVERSED[verdict] };
  }

  /** The services that are statistically tied with this one. */
  tiedWith(id: string): string[] {
    return this.packed.ids.filter((other) => {
      const verdict = this.of(id, other)?.verdict;
      return verdict === "same" || verdict === "cannot_tell";
    });
  }

  private half(at: number): number {
    let code = 0;
    for (const letter of this.packed.reach.slice(3 * at, 3 * at + 3)) code = 64 * code + (DIGIT.get(letter) ?? 0);
    return SMALLEST * (LARGEST / SMALLEST) ** (code / STEPS);
  }
}

const known = new WeakMap<Group, Comparisons>();

/** The comparisons of a group, decoded once. */
export function comparisonsOf(group: Group): Comparisons {
  const found = known.get(group) ?? new Comparisons(group.pairs);
  known.set(group, found);
  return found;
}
