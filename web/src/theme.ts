// Light and dark, and the colours of charts: after Okabe and Ito, distinguishable with every kind of colour vision, and
// never the only carrier of a meaning (lines also differ in dash and symbol, cells in text).

import { createContext } from "preact";

export type Mode = "light" | "dark";

export interface Theme {
  mode: Mode;
  background: string;
  text: string;
  muted: string;
  line: string;
  accent: string;
  accentSoft: string;
  whisker: string;
  shade: string;
  lines: string[];
}

const LIGHT: Theme = {
  mode: "light",
  background: "#ffffff",
  text: "#1d232a",
  muted: "#59636e",
  line: "#e1e5ea",
  accent: "#2f7dbd",
  accentSoft: "#bcd7ec",
  whisker: "#1d232a",
  shade: "rgba(90, 100, 112, 0.12)",
  lines: ["#0072b2", "#d55e00", "#009e73", "#b0578d", "#c28a00", "#3a9bd9", "#5b6470", "#7a5195"],
};

const DARK: Theme = {
  mode: "dark",
  background: "#171b20",
  text: "#e7eaee",
  muted: "#9da7b3",
  line: "#2c333b",
  accent: "#5aa9e0",
  accentSoft: "#23455f",
  whisker: "#f2f4f6",
  shade: "rgba(157, 167, 179, 0.14)",
  lines: ["#56b4e9", "#f08a3c", "#2fc69a", "#dd8fbd", "#e6b93a", "#9ccbf2", "#aab3bd", "#b79ad6"],
};

export const DASHES: ("solid" | "dashed" | "dotted" | [number, number])[] = ["solid", "solid", "solid", "solid", "dashed", "dashed", "dashed", "dashed"];
export const SYMBOLS = ["circle", "triangle", "rect", "diamond", "circle", "triangle", "rect", "diamond"];

/** Maximum number of lines in a chart: more would be indistinguishable. */
export const MOST_LINES = 8;

export type Choice = "auto" | Mode;
export const ThemeContext = createContext<Theme>(LIGHT);
export const themeOf = (mode: Mode): Theme => (mode === "dark" ? DARK : LIGHT);

const KEY = "prony-theme";
const wantsDark = matchMedia("(prefers-color-scheme: dark)");

export function storedChoice(): Choice {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "auto";
  } catch {
    return "auto"; // A page from disk may be denied storage.
  }
}

export function applyChoice(choice: Choice): Mode {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // The choice then lasts only as long as the page.
  }
  const mode = choice === "auto" ? (wantsDark.matches ? "dark" : "light") : choice;
  document.documentElement.dataset["theme"] = mode;
  return mode;
}

export function onSystemChange(changed: () => void): () => void {
  wantsDark.addEventListener("change", changed);
  return () => wantsDark.removeEventListener("change", changed);
}
