// What the reader chose, in the address: a link shows what its sender saw.

import { useEffect, useRef, useState } from "preact/hooks";
import { METRICS, type Group, type Metric } from "./data.ts";
import { EMPTY, type Filter } from "./parts/filters.tsx";

export interface Sort {
  key: "rank" | "service" | Metric;
  down: boolean;
}

export interface View {
  /** Which group, by its key; empty for the first one. */
  group: string;
  filter: Filter;
  sort: Sort;
  /** What the bars show; null for what the group is ranked by. */
  metric: Metric | null;
  /** Two services side by side; empty for the first two. */
  pair: [string, string];
}

const FIRST: View = { group: "", filter: EMPTY, sort: { key: "rank", down: false }, metric: null, pair: ["", ""] };

/** Browsers refuse a page that changes its address too often. */
const PAUSE = 250;

/** What tells a group from all others of its report. */
export const groupKey = (group: Group): string => [group.contract, group.workload, group.load_text].join("/");

const isMetric = (text: string | null): text is Metric => (METRICS as readonly string[]).includes(text ?? "");

/** Reads the part of an address behind `#`; what it does not say, or says wrongly, is as at first. */
export function readView(hash: string): View {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const filter: Filter = {
    text: said.get("find") ?? "",
    language: said.get("language") ?? "",
    class: said.get("class") ?? "",
    variant: said.get("variant") ?? "",
  };
  const sort = said.get("sort") ?? "rank";
  const key = sort.replace(/^-/, "");
  const metric = said.get("metric");
  return {
    group: said.get("group") ?? "",
    filter,
    sort: key === "rank" || key === "service" || isMetric(key) ? { key, down: sort.startsWith("-") } : FIRST.sort,
    metric: isMetric(metric) ? metric : null,
    pair: [said.get("a") ?? "", said.get("b") ?? ""],
  };
}

/** The same as `readView` reads, without what is as at first. */
export function writeView(view: View): string {
  const said = new URLSearchParams();
  const add = (key: string, value: string) => value && said.set(key, value);
  add("group", view.group);
  add("find", view.filter.text);
  add("language", view.filter.language);
  add("class", view.filter.class);
  add("variant", view.filter.variant);
  const sort = `${view.sort.down ? "-" : ""}${view.sort.key}`;
  add("sort", sort === "rank" ? "" : sort);
  add("metric", view.metric ?? "");
  add("a", view.pair[0]);
  add("b", view.pair[1]);
  return said.toString();
}

/** The view of the address, and a way to change parts of it. */
export function useView(): [View, (part: Partial<View>) => void] {
  const [view, setView] = useState(() => readView(location.hash));
  const told = useRef(writeView(view));
  useEffect(() => {
    const text = writeView(view);
    if (text === told.current) return;
    const timer = setTimeout(() => {
      told.current = text;
      history.replaceState(history.state, "", text ? `#${text}` : location.pathname + location.search);
    }, PAUSE);
    return () => clearTimeout(timer);
  }, [view]);
  useEffect(() => {
    // A link to a part of the page says nothing of the view.
    const changed = () => {
      if (!location.hash.includes("=")) return;
      const next = readView(location.hash);
      told.current = writeView(next);
      setView(next);
    };
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return [view, (part) => setView((before) => ({ ...before, ...part }))];
}
