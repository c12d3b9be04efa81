// Light and dark, and the colours of charts, which are never the only carrier of a meaning (lines also differ in dash and symbol,
// cells in text).

import { createContext } from "preact";
import palette from "./palette.css?raw";

type Mode = "light" | "dark";

export interface Theme {
  mode: Mode;
  background: string;
  text: string;
  muted: string;
  line: string;
  accent: string;
  whisker: string;
  shade: string;
  lines: string[];
}

// One place for all colours: the charts read the style sheet of the page.
function theme(mode: Mode, block: string): Theme {
  const colour = (name: string): string => {
    const value = new RegExp(`^\\s*--${name}: (.*);$`, "m").exec(block)?.[1];
    if (value === undefined) throw new Error(`palette.css has no colour --${name}`);
    return value;
  };
  return {
    mode,
    background: colour("background"),
    text: colour("text"),
    muted: colour("muted"),
    line: colour("line"),
    accent: colour("bar"),
    whisker: colour("whisker"),
    shade: colour("shade"),
    lines: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => colour(`line-${number}`)),
  };
}

const [light = "", dark = ""] = palette.split("data-theme");
const LIGHT = theme("light", light);
const DARK = theme("dark", dark);

export const DASHES: ("solid" | "dashed" | "dotted" | [number, number])[] = ["solid", "solid", "solid", "solid", "dashed", "dashed", "dashed", "dashed"];
export const SYMBOLS = ["circle", "triangle", "rect", "diamond", "circle", "triangle", "rect", "diamond"];

/** Maximum number of lines in a chart: more would be indistinguishable. */
export const MAX_LINES = 8;

export type Choice = "auto" | Mode;
export const ThemeContext = createContext<Theme>(LIGHT);
/** Whether the page is being printed: then it is light, and shows what a screen hides. */
export const PrintContext = createContext(false);
export const themeOf = (mode: Mode): Theme => (mode === "dark" ? DARK : LIGHT);

const STORAGE_KEY = "prony-theme";
const wantsDark = matchMedia("(prefers-color-scheme: dark)");

export function storedChoice(): Choice {
  try {
    const stored = localStorage.getItem(STORAGE_KEY);
    return stored === "light" || stored === "dark" ? stored : "auto";
  } catch {
    return "auto"; // A page from disk may be denied storage.
  }
}

export function applyChoice(choice: Choice): Mode {
  try {
    localStorage.setItem(STORAGE_KEY, choice);
  } catch {
    // The choice then lasts only as long as the page.
  }
  const mode = choice === "auto" ? (wantsDark.matches ? "dark" : "light") : choice;
  showMode(mode);
  return mode;
}

export function showMode(mode: Mode): void {
  document.documentElement.dataset["theme"] = mode;
}

export function onSystemChange(listener: () => void): () => void {
  wantsDark.addEventListener("change", listener);
  return () => wantsDark.removeEventListener("change", listener);
}
