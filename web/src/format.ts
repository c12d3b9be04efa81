// Numbers for people: the unit is chosen once per column or axis, so that its numbers can be compared by eye.

import type { Estimate } from "./data.ts";

export type Dimension = "rate" | "time" | "bytes" | "cpus" | "count";

export interface Unit {
  /** Follows a number; empty for none. */
  symbol: string;
  /** Size in base units (1/s, ns, bytes). */
  factor: number;
}

const UNITS: Record<Dimension, Unit[]> = {
  rate: [{ symbol: "/s", factor: 1 }],
  time: [
    { symbol: "ns", factor: 1 },
    { symbol: "µs", factor: 1e3 },
    { symbol: "ms", factor: 1e6 },
    { symbol: "s", factor: 1e9 },
  ],
  bytes: [
    { symbol: "B", factor: 1 },
    { symbol: "KiB", factor: 2 ** 10 },
    { symbol: "MiB", factor: 2 ** 20 },
    { symbol: "GiB", factor: 2 ** 30 },
  ],
  // 100 % is one CPU that is always busy.
  cpus: [{ symbol: "%", factor: 0.01 }],
  count: [{ symbol: "", factor: 1 }],
};

/** The unit in which most of `values` (in base units) have between one and three digits. */
export function unitFor(dimension: Dimension, values: number[]): Unit {
  const units = UNITS[dimension];
  const sorted = values.filter((value) => value > 0).sort((left, right) => left - right);
  const typical = sorted[Math.floor(sorted.length / 2)] ?? 1;
  let chosen = units[0]!;
  for (const unit of units) if (typical >= unit.factor) chosen = unit;
  return chosen;
}

/** Rounds like prony's other formats: a half to the even digit, which `toFixed` does not. */
const FIXED = [0, 1, 2, 3, 4].map(
  (places) => new Intl.NumberFormat("en-GB", { minimumFractionDigits: places, maximumFractionDigits: places, roundingMode: "halfEven" } as Intl.NumberFormatOptions),
);

const fixed = (value: number, places: number): string => FIXED[places]!.format(value);

/** A whole count; for means, which are not whole, `digits` shows more. */
export const formatCount = (count: number): string => fixed(count, 0);

/** Three significant digits; thousands grouped, never in powers of ten. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0";
  return fixed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : size >= 0.09995 ? 3 : 4);
}

export const inUnit = (value: number, unit: Unit): string => digits(value / unit.factor);

const withSymbol = (number: string, unit: Unit): string => (unit.symbol.startsWith("/") ? `${number}${unit.symbol}` : `${number} ${unit.symbol}`.trim());

export const withUnit = (value: number, unit: Unit): string => withSymbol(inUnit(value, unit), unit);

/** A value with the unit that fits it alone. */
export const humanize = (value: number, dimension: Dimension): string => withUnit(value, unitFor(dimension, [value]));

export const percent = (share: number): string => {
  const value = share * 100;
  // A confidence of 99.9 % is not 100 %, and a success rate of 99.999 % is not either.
  if (value > 99 && value < 100) return `${fixed(Math.min(value, 99.99), 2).replace(/\.?0+$/, "")} %`;
  return `${fixed(value, value >= 10 ? 0 : value >= 0.095 ? 1 : 2)} %`;
};

/** `p99.6` for 0.996. It has enough digits never to become p100. */
export function percentileName(share: number): string {
  if (share <= 0 || share >= 1) return share <= 0 ? "0" : "p100";
  const nines = -Math.log10(1 - share);
  return `p${(100 * share).toFixed(Math.max(0, Math.ceil(nines - 1e-9) - 1)).replace(/\.0+$|(?<=\.\d*)0+$/, "")}`;
}

/** The text shown for a value, and its half-width. */
interface ShownInterval {
  value: string;
  half: string;
}

/**
 * The largest half-width that is shown as one number, the one from which a value counts as unknown, and the minimum
 * ratio of the narrower side to the wider one for a single half-width: the same as `Estimate::precision` of
 * crates/statistics.
 */
const NARROW = 0.2;
const UNKNOWN = 1;
const SYMMETRIC = 0.75;

/** How an interval is shown everywhere: `72,086 ±2.3 %`, `30,909–88,219`, `unknown`. `show` formats a number. */
export function shownInterval({ point, low, high }: Estimate, show: (value: number) => string): ShownInterval {
  const [below, above] = [point - low, high - point];
  const widest = Math.max(below, above);
  const half = widest === 0 ? 0 : widest / Math.abs(point);
  if (half >= UNKNOWN) return { value: "unknown", half: "" };
  if (half <= NARROW && Math.min(below, above) >= SYMMETRIC * widest) return { value: show(point), half: `±${percent(half)}` };
  return { value: `${show(low)}–${show(high)}`, half: "" };
}

/** The same on one line, with the symbol of the unit after the number. */
export function intervalWithUnit(interval: Estimate, unit: Unit): string {
  const { value, half } = shownInterval(interval, (number) => inUnit(number, unit));
  return value === "unknown" ? value : `${withSymbol(value, unit)} ${half}`.trim();
}

/** A difference with its sign, and the ends of its interval, which may be on both sides of zero. */
export function signedInterval({ point, low, high }: Estimate, show: (value: number) => string): ShownInterval {
  const signed = (value: number) => `${value < 0 ? "−" : "+"}${show(Math.abs(value))}`;
  return { value: signed(point), half: `${signed(low)} … ${signed(high)}` };
}

/** A ratio with up to two decimals and three significant digits. */
export const ratio = (value: number): string => fixed(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);

/** A sentence in which no line breaks between a number and its unit. */
export const nonBreaking = (text: string): string => text.replaceAll("± ", "±\u00a0").replaceAll(/(\d) (%|[nµm]?s\b|[KMG]?i?B\b)/g, "$1\u00a0$2");

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

const dates = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });

/** An RFC 3339 time for people, in UTC; invalid text is returned unchanged. */
export function formatTime(text: string): string {
  const time = Date.parse(text);
  return Number.isNaN(time) ? text : `${dates.format(time)} UTC`;
}

/** A duration in words, with at most two units. */
export function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A key of prony in words: `no_steady_state` is "no steady state". */
export const words = (key: string): string => key.replaceAll("_", " ");
