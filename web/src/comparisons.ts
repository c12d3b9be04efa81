// All pairs of services of a group: verdicts are looked up, ratios are computed on demand.

import { idOf, type Estimate, type Group, type PackedPairs, type Row, type Verdict } from "./data.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT = new Map([...ALPHABET].map((letter, digit) => [letter, digit]));
const STEPS = 64 ** 3 - 1;
/** Limits of a half-width on the log scale, as prony encodes them. */
const MIN_HALF_WIDTH = 1e-4;
const MAX_HALF_WIDTH = 10;

const VERDICT: Record<string, Verdict> = { f: "faster", s: "slower", e: "same", c: "cannot_tell" };
const REVERSED: Record<Verdict, Verdict> = { faster: "slower", slower: "faster", same: "same", cannot_tell: "cannot_tell" };

/** One service relative to another: its value divided by that of the other. */
export interface PairRatio extends Estimate {
  verdict: Verdict;
}

export class Comparisons {
  private readonly index: Map<string, number>;

  constructor(private readonly packed: PackedPairs) {
    this.index = new Map(packed.ids.map((id, place) => [id, place]));
  }

  get hasPairs(): boolean {
    return this.packed.ids.length > 1;
  }

  has(id: string): boolean {
    return this.index.has(id);
  }

  /** The value of `a` divided by that of `b`; null if they were not compared. */
  ratio(a: string, b: string): PairRatio | null {
    const [i, j] = [this.index.get(a), this.index.get(b)];
    if (i === undefined || j === undefined || i === j) return null;
    const [left, right] = i < j ? [i, j] : [j, i];
    const pair = (left * (2 * this.packed.ids.length - left - 1)) / 2 + right - left - 1;
    const verdict = VERDICT[this.packed.verdicts[pair] ?? "."];
    if (!verdict) return null;
    const halfWidth = this.halfWidth(pair);
    const log = this.packed.logs[i]! - this.packed.logs[j]!;
    return { point: Math.exp(log), low: Math.exp(log - halfWidth), high: Math.exp(log + halfWidth), verdict: i < j ? verdict : REVERSED[verdict] };
  }

  /** The services that are statistically tied with this one. */
  tiedWith(id: string): string[] {
    return this.packed.ids.filter((other) => {
      const verdict = this.ratio(id, other)?.verdict;
      return verdict === "same" || verdict === "cannot_tell";
    });
  }

  private halfWidth(pair: number): number {
    let code = 0;
    for (const letter of this.packed.reach.slice(3 * pair, 3 * pair + 3)) code = 64 * code + (DIGIT.get(letter) ?? 0);
    return MIN_HALF_WIDTH * (MAX_HALF_WIDTH / MIN_HALF_WIDTH) ** (code / STEPS);
  }
}

/** The services that are statistically tied with this one. */
export function tiedWith(group: Group, row: Row): string[] {
  const id = idOf(row);
  const bounds = group.services.filter((other) => other.tied_with?.includes(id)).map(idOf);
  return [...new Set([...(row.tied_with ?? []), ...bounds, ...comparisonsOf(group).tiedWith(id)])];
}

const cache = new WeakMap<Group, Comparisons>();

/** The comparisons of a group, decoded once. */
export function comparisonsOf(group: Group): Comparisons {
  const comparisons = cache.get(group) ?? new Comparisons(group.pairs);
  cache.set(group, comparisons);
  return comparisons;
}
