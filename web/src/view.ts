// The choices of the reader, in the URL: a link shows what its sender saw.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { METRICS, type Group, type Metric } from "./data.ts";
import { isFigure, type Figure } from "./figures.ts";
import { NO_FILTER, type Filter } from "./parts/filters.tsx";

export interface Sort {
  key: "rank" | "service" | Figure;
  descending: boolean;
}

export interface View {
  /** Key of the group; empty for the first one. */
  group: string;
  filter: Filter;
  sort: Sort;
  /** The metric that the bars show; null for the ranking metric. */
  metric: Metric | null;
  /** Two services side by side; empty for the first two. */
  pair: [string, string];
  /** The rows whose details are open. */
  open: string[];
  /** The service of the chart over time; empty for the first one. */
  time: string;
}

const DEFAULT: View = { group: "", filter: NO_FILTER, sort: { key: "rank", descending: false }, metric: null, pair: ["", ""], open: [], time: "" };

/** Browsers refuse a page that changes its URL too often. */
const UPDATE_DELAY_MS = 250;

/** Unique in a report. */
export const groupKey = (group: Group): string => [group.contract, group.workload, group.load_text].join("/");

const isMetric = (text: string | null): text is Metric => (METRICS as readonly string[]).includes(text ?? "");

/** Reads the part of a URL after `#`; parts that are missing or invalid get their defaults. */
function readView(hash: string): View {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const filter: Filter = {
    text: params.get("find") ?? "",
    language: params.get("language") ?? "",
    class: params.get("class") ?? "",
    variant: params.get("variant") ?? "",
  };
  const sort = params.get("sort") ?? "rank";
  const key = sort.replace(/^-/, "");
  const metric = params.get("metric");
  return {
    group: params.get("group") ?? "",
    filter,
    sort: key === "rank" || key === "service" || isFigure(key) ? { key, descending: sort.startsWith("-") } : DEFAULT.sort,
    metric: isMetric(metric) ? metric : null,
    pair: [params.get("a") ?? "", params.get("b") ?? ""],
    open: params.getAll("open"),
    time: params.get("time") ?? "",
  };
}

/** The inverse of `readView`, without defaults. */
function writeView(view: View): string {
  const params = new URLSearchParams();
  const add = (key: string, value: string) => value && params.set(key, value);
  add("group", view.group);
  add("find", view.filter.text);
  add("language", view.filter.language);
  add("class", view.filter.class);
  add("variant", view.filter.variant);
  const sort = `${view.sort.descending ? "-" : ""}${view.sort.key}`;
  add("sort", sort === "rank" ? "" : sort);
  add("metric", view.metric ?? "");
  add("a", view.pair[0]);
  add("b", view.pair[1]);
  for (const id of view.open) params.append("open", id);
  add("time", view.time);
  return params.toString();
}

/** The address of a row with its details. */
export const rowAddress = (group: string, id: string): string => `#${writeView({ ...DEFAULT, group, open: [id] })}`;

/** Keeps a value in the part of the URL after `#`, once the reader has stopped changing it. */
function useHash<T>(read: (hash: string) => T, write: (value: T) => string): [T, (change: T | ((before: T) => T)) => void] {
  const [value, setValue] = useState(() => read(location.hash));
  const urlHash = useRef(write(value));
  useEffect(() => {
    const text = write(value);
    if (text === urlHash.current) return;
    const timer = setTimeout(() => {
      urlHash.current = text;
      history.replaceState(history.state, "", text ? `#${text}` : location.pathname + location.search);
    }, UPDATE_DELAY_MS);
    return () => clearTimeout(timer);
  }, [value]);
  useEffect(() => {
    // A link to a section of the page contains no view.
    const onHashChange = () => {
      if (!location.hash.includes("=")) return;
      const next = read(location.hash);
      urlHash.current = write(next);
      setValue(next);
    };
    addEventListener("hashchange", onHashChange);
    return () => removeEventListener("hashchange", onHashChange);
  }, []);
  return [value, setValue];
}

/** Words of the reader in the URL, by name. */
export const useParams = (): [URLSearchParams, (change: (params: URLSearchParams) => void) => void] => {
  const [params, setParams] = useHash((hash) => new URLSearchParams(hash.replace(/^#/, "")), String);
  return [
    params,
    (change) =>
      setParams((before) => {
        const next = new URLSearchParams(before);
        change(next);
        return next;
      }),
  ];
};

/** The view in the URL, and a function that changes parts of it. */
export function useView(): [View, (part: Partial<View> | ((before: View) => Partial<View>)) => void] {
  const [view, setView] = useHash(readView, writeView);
  const change = useCallback(
    (part: Partial<View> | ((before: View) => Partial<View>)) =>
      setView((before) => ({ ...before, ...(typeof part === "function" ? part(before) : part) })),
    [],
  );
  return [view, change];
}
