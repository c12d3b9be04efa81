// Every two services of a group: verdicts are looked up, ratios are computed when somebody asks.

import type { Estimate, Group, PackedPairs, Verdict } from "./data.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT = new Map([...ALPHABET].map((letter, digit) => [letter, digit]));
const STEPS = 64 ** 3 - 1;
/** Bounds of a half-width on the log scale, as prony writes them. */
const SMALLEST = 1e-4;
const LARGEST = 10;

const VERDICT: Record<string, Verdict> = { f: "faster", s: "slower", e: "same", c: "cannot_tell" };
const REVERSED: Record<Verdict, Verdict> = { faster: "slower", slower: "faster", same: "same", cannot_tell: "cannot_tell" };

/** One service seen from another one: its value over theirs. */
export interface Side extends Estimate {
  verdict: Verdict;
}

export class Comparisons {
  private readonly place: Map<string, number>;

  constructor(private readonly packed: PackedPairs) {
    this.place = new Map(packed.ids.map((id, index) => [id, index]));
  }

  /** Whether there is any pair. */
  get some(): boolean {
    return this.packed.ids.length > 1;
  }

  has(id: string): boolean {
    return this.place.has(id);
  }

  /** The value of `a` over that of `b`; null where they were not compared. */
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

  /** The services that the data does not tell from this one. */
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

/** The comparisons of a group, read once. */
export function comparisonsOf(group: Group): Comparisons {
  const found = known.get(group) ?? new Comparisons(group.pairs);
  known.set(group, found);
  return found;
}
