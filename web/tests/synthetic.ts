// Made-up reports, identical for the same seed: for tests and screenshots, never for a claim about a service.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Distribution, Details, Estimate, Group, Metric, MetricTable, PackedPairs, Report, Row, ServiceCheck, ServiceInfo } from "../src/data.ts";
import { METRICS, positionOf } from "../src/data.ts";

/** Numbers in [0, 1), identical for the same seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const KINDS: [string, string, string, string, string][] = [
  ["rust-axum", "axum", "Rust", "0.8.9", "micro"],
  ["go-nethttp", "Go net/http", "Go", "1.26.8", "platform"],
  ["go-gorilla", "gorilla/mux", "Go", "1.8.1", "micro"],
  ["java-netty", "Netty", "Java", "4.2.18", "platform"],
  ["node-http", "Node.js http", "JavaScript", "20.20.2", "platform"],
  ["java-spring", "Spring Boot", "Java", "4.0.9", "full"],
  ["node-express", "Express", "JavaScript", "5.3.0", "micro"],
  ["python-aiohttp", "aiohttp", "Python", "3.14.5", "micro"],
  ["python-flask", "Flask", "Python", "3.1.3", "micro"],
  ["scala-spray", "spray-can", "Scala", "1.3.4", "platform"],
];

function infos(count: number): ServiceInfo[] {
  return Array.from({ length: count }, (_, index) => {
    const [service, title, language, version, kind] = KINDS[index % KINDS.length]!;
    const copy = Math.floor(index / KINDS.length);
    return {
      service: copy === 0 ? service : `${service}-${copy + 1}`,
      variant: index % 7 === 6 ? "era" : "current",
      title: copy === 0 ? title : `${title} ${copy + 1}`,
      language,
      framework: title,
      class: kind,
      version,
      workers: "a thread per CPU",
      note: null,
      pinned: index % 7 === 6,
      source: `services/${service}`,
      build: [`make ${service}`],
      start: `exec ./${service}`,
    };
  });
}

const estimate = (point: number, half: number): Estimate => ({
  point,
  low: point * (1 - half),
  high: point * (1 + half),
});

function curve(median: number, tail: number): [number, number][] {
  return Array.from({ length: 41 }, (_, step) => {
    const nines = step / 10;
    const bend = nines > 2 ? (nines - 2) * tail : 0;
    return [1 - 10 ** -nines, Math.round(median * (0.55 + 0.45 * (nines / 0.301) ** 0.8 + bend))];
  });
}

function density(median: number, second: number): [number, number, number][] {
  const bins = Array.from({ length: 36 }, (_, step): [number, number, number] => {
    const low = median * 10 ** ((step - 14) / 16);
    const high = median * 10 ** ((step - 13) / 16);
    const hill = (at: number, width: number) => Math.exp(-(((step - at) / width) ** 2));
    return [low, high, hill(14, 3) + second * hill(27, 2)];
  });
  const total = bins.reduce((sum, [, , share]) => sum + share, 0);
  return bins.map(([low, high, share]): [number, number, number] => [low, high, share / total]).filter(([, , share]) => share > 1e-4);
}

/** The value of each metric in one trial. */
const measuredOnce = (throughput: number, median: number, cpu: number, memory: number) => ({
  throughput_per_s: throughput,
  goodput_per_s: throughput,
  offered_per_s: throughput,
  response_time_ns_mean: median * 1.1,
  response_time_ns_p50: median,
  response_time_ns_p75: median * 1.4,
  response_time_ns_p90: median * 1.8,
  response_time_ns_p95: median * 2.4,
  response_time_ns_p99: median * 4,
  response_time_ns_p99_9: median * 9,
  response_time_ns_max: median * 20,
  cpu_ns_per_request: cpu,
  cpus_busy: 0.98,
  memory_bytes_peak: memory,
  memory_bytes_mean: memory * 0.9,
  start_ms: 3 + 1e6 / throughput,
});

/** The response times of a second: a hill, and a second one while something else had the CPU. */
function heatOf(start_s: number, median: number): Distribution {
  const middle = Math.floor(12 * Math.log10(median));
  const counts = Array.from({ length: 24 }, (_, step) => Math.round(9000 * Math.exp(-(((step - 8) / 2.2) ** 2)) + (start_s % 5 === 3 ? 600 : 12) * Math.exp(-(((step - 18) / 2.5) ** 2))));
  return { start_s, length_s: 1, first_bin: middle - 8, counts };
}

function details(throughput: number, median: number, cpu: number, memory: number, draw: () => number): Details {
  const noise = (width: number) => 1 + (draw() - 0.5) * width;
  const seconds = (from: number, to: number, step: number) => Array.from({ length: Math.round((to - from) / step) }, (_, index) => from + index * step);
  return {
    response_time_curve: curve(median, 1.5 + 6 * draw()),
    response_time_density: density(median, draw() < 0.4 ? 0.25 : 0),
    outcomes: { valid: Math.round(throughput * 50), unexpected: 0, status: 0, timeout: 0, connect_error: 0, reset: 0, dropped: 0 },
    operations: ["getPerson", "listPersons", "createPerson", "getPersonLinks"].map((name) => ({
      name,
      completed: Math.round(throughput * 12),
      errors: 0,
      response_time_ns_p50: median * noise(0.6),
      response_time_ns_p99: median * 4 * noise(0.6),
    })),
    points: [0, 1, 2, 3, 4].map((round) => ({
      round,
      started_at: "2026-11-21T08:30:00Z",
      order: round * 9 + ((7 * round) % 9),
      steal_ns: 1e5 * round,
      other_cpu_ns: 3e7 + 1e6 * round,
      generator_cpu_s: 9.5 * noise(0.02),
      ...measuredOnce(throughput * noise(0.02), median * noise(0.05), cpu * noise(0.02), memory * noise(0.02)),
    })),
    series: {
      round: 2,
      duration_s: 10,
      warm_up_s: 4,
      classification: "warmed_up",
      intervals: seconds(-4, 10, 1).map((at_s) => {
        const warm = at_s < 0 ? 1 - 0.5 * Math.exp(-(at_s + 4)) : 1;
        return { at_s, throughput_per_s: throughput * warm * noise(0.03), response_time_ns_p99: (median * 4 * noise(0.2)) / warm };
      }),
      distributions: seconds(0, 10, 1).map((start_s) => heatOf(start_s, median)),
      resources: seconds(-4, 10, 0.5).map((at_s) => ({
        at_s,
        cpus_busy: Math.min(1, 0.5 + (at_s + 4) / 6) * noise(0.05),
        memory_bytes: memory * (0.7 + 0.3 * Math.min(1, (at_s + 4) / 8)),
      })),
    },
    service_cpus: [1],
    generator_cpus: [0],
  };
}

function rowOf(info: ServiceInfo, place: number, draw: () => number): Row {
  const throughput = 92_000 / (1 + place * 0.22) / (1 + 0.1 * draw());
  const median = (64 / throughput) * 1e9;
  const cpu = 0.98e9 / throughput;
  const memory = (8 + 260 * draw() * draw()) * 2 ** 20;
  const half = 0.004 + 0.02 * draw();
  return {
    service: info.service,
    variant: info.variant,
    rank: place + 1,
    generator_bound: false,
    rank_low: place + 1,
    rank_high: place + 1,
    throughput_per_s: estimate(throughput, half),
    goodput_per_s: estimate(throughput, half),
    response_time_ns_mean: estimate(median * 1.1, half * 1.4),
    response_time_ns_p50: estimate(median, half * 1.3),
    response_time_ns_p75: estimate(median * 1.4, half * 1.4),
    response_time_ns_p90: estimate(median * 1.8, half * 1.6),
    response_time_ns_p95: estimate(median * 2.4, half * 2),
    response_time_ns_p99: estimate(median * 4, half * 3),
    response_time_ns_p99_9: estimate(median * 9, half * 6),
    response_time_ns_max: estimate(median * 20, half * 10),
    cpu_ns_per_request: estimate(cpu, half),
    cpus_busy: estimate(0.98, 0.004),
    memory_bytes_peak: estimate(memory, half * 2),
    memory_bytes_mean: estimate(memory * 0.9, half * 2),
    start_ms: estimate(5 + 900 * draw() * draw(), 0.04),
    trials: 5,
    failed_trials: 0,
    bytes_per_reply: 120 + Math.round(90 * draw()),
    warnings: [],
    excluded: null,
    details: details(throughput, median, cpu, memory, draw),
  };
}

/**
 * The same report as an interleaved ranking, with three rounds of ten cycles; neighbours use most of the machine in the
 * second round.
 */
export function inTurns(report: Report): Report {
  const draw = random(5);
  for (const group of report.groups) {
    group.ranked_by = "cpu_ns_per_request";
    for (const row of group.services) {
      if (row.details === null) continue;
      const cost = positionOf(row.cpu_ns_per_request)!;
      row.details.interleaved = Array.from({ length: 30 }, (_, at) => ({
        round: Math.floor(at / 10),
        cycle: at % 10,
        cpu_ns_per_request: cost * (1 + 0.1 * draw()),
        goodput_per_s: (1e9 / cost) * (at >= 10 && at < 20 ? 0.3 : 0.9),
        others_cpus: at >= 10 && at < 20 ? 1.2 : 0.02,
        cpu_speed_probe_ns: 23_000,
      }));
    }
  }
  return report;
}

/** Neighbours in the ranking are tied if their intervals overlap. */
function rank(rows: Row[]): PackedPairs {
  rows.sort((left, right) => pointOf(right) - pointOf(left));
  rows.forEach((row, place) => {
    const above = rows[place - 1];
    row.rank = row.rank_low = row.rank_high = place + 1;
    if (above && lowOf(above) < highOf(row)) {
      row.rank = above.rank;
      row.rank_low = place;
      above.rank_high = place + 1;
    }
  });
  const count = rows.length;
  let [verdicts, reach] = ["", ""];
  for (let i = 0; i < count; i += 1)
    for (let j = i + 1; j < count; j += 1) {
      // As in the ranks: neighbours whose intervals overlap are tied.
      verdicts += j === i + 1 && lowOf(rows[i]!) < highOf(rows[j]!) ? "c" : "f";
      reach += halfCode(0.02 + 0.0004 * ((7 * i + 13 * j) % 50));
    }
  const first = pointOf(rows[0]!);
  return { ids: rows.map((row) => `${row.service}/${row.variant}`), logs: rows.map((row) => Math.log(pointOf(row) / first)), verdicts, reach };
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** A half-width as prony encodes it. */
export function halfCode(half: number): string {
  const code = Math.round((Math.log(half / 1e-4) / Math.log(1e5)) * (64 ** 3 - 1));
  return [12, 6, 0].map((shift) => ALPHABET[(code >> shift) & 63]).join("");
}

const pointOf = (row: Row): number => (row.throughput_per_s as Estimate).point;
const lowOf = (row: Row): number => (row.throughput_per_s as Estimate).low;
const highOf = (row: Row): number => (row.throughput_per_s as Estimate).high;

function excluded(info: ServiceInfo): Row {
  return {
    service: info.service,
    variant: info.variant,
    rank: null,
    generator_bound: false,
    rank_low: null,
    rank_high: null,
    trials: 0,
    failed_trials: 5,
    bytes_per_reply: null,
    warnings: [],
    excluded: {
      stage: "check",
      reason: "case `hello`: expected the body `Hello, World!` (13 bytes), got `Hello, World` (12 bytes)",
      log_tail: ["listening on 127.0.0.1:43211", "GET /api/test 200 0.3 ms"],
    },
    details: null,
  };
}

function groupOf(contract: string, load: Record<string, unknown>, load_text: string, services: ServiceInfo[], seed: number, workload = contract): Group {
  const draw = random(seed);
  const failing = services.at(-1)!;
  const rows = services.slice(0, -1).map((info, place) => rowOf(info, place + draw() * 2, draw));
  const pairs = rank(rows);
  const second = rows[2];
  if (second) {
    second.warnings = [
      { kind: "schedule_lag", text: "1.4 % of the requests were sent more than 1 ms late: response times above p98 are the generator’s in part (in 2 of 5 trials)", level: "warning", affects: ["times"], scope: "machine" },
    ];
  }
  const [best, next] = [rows[0]!, rows[1]!];
  const point = pointOf(best) / pointOf(next);
  const times = { low: point * 0.97, high: point * 1.03 };
  return {
    contract,
    workload,
    load,
    load_text,
    ceiling_per_s: null,
    ceiling_text: null,
    offered_per_s: typeof load["rate"] === "number" ? load["rate"] : null,
    ranked_by: "throughput_per_s",
    tie_band: 0.01,
    finding: `${best.service} leads: ${Math.round(pointOf(best)).toLocaleString("en-GB")} replies per second, ${times.low.toFixed(2)}–${times.high.toFixed(2)} × ${next.service}, the next.`,
    services: [...rows, excluded(failing)],
    pairs,
    warnings: [],
  };
}

function checksOf(services: ServiceInfo[], contracts: string[]): ServiceCheck[] {
  const cases = ["hello", "query string", "unknown path", "wrong method", "HEAD"];
  return contracts.flatMap((contract) =>
    services.map((info, index) => {
      const last = index === services.length - 1;
      return {
        service: info.service,
        variant: info.variant,
        contract,
        passed: !last,
        cases,
        operations: Object.fromEntries(cases.map((name) => [name, ["hello"]])),
        failures: last ? [{ case: "hello", expected: "body `Hello, World!`", got: "body `Hello, World`" }] : [],
        warnings: index === 3 ? ["closes the connection after each reply"] : [],
        unavailable: null,
      };
    }),
  );
}

const CLOSED = { kind: "closed", connections: 64, in_flight: 1 };

export interface SyntheticOptions {
  services: number;
  contracts: string[];
  /** Open loads with these rates in addition to the closed one, for the first contract. */
  rates?: number[];
  /** Closed loads with these numbers of connections in addition to the first one, for the first contract. */
  levels?: number[];
  /** Workloads of an additional contract, for the radar chart. */
  workloads?: string[];
}

export function synthetic(options: SyntheticOptions): Report {
  const services = infos(options.services);
  const groups = options.contracts.map((contract, index) => groupOf(contract, CLOSED, "closed loop, 64 connections", services, index + 1));
  for (const [index, rate] of (options.rates ?? []).entries()) {
    const load = { kind: "open", rate, connections: 64 };
    const group = groupOf(options.contracts[0]!, load, `open loop, ${rate.toLocaleString("en-GB")} requests per second`, services, 50 + index);
    for (const row of group.services) {
      const p99 = row.response_time_ns_p99 as Estimate | undefined;
      const limit = row.throughput_per_s as Estimate | undefined;
      if (p99 && limit) row.response_time_ns_p99 = estimate((0.4e6 + p99.point / 20) / Math.max(0.02, 1 - (0.8 * rate) / limit.point), 0.05);
    }
    groups.push(group);
  }
  for (const [index, connections] of (options.levels ?? []).entries())
    groups.push(groupOf(options.contracts[0]!, { ...CLOSED, connections }, `closed loop, ${connections} connections`, services, 70 + index));
  for (const [index, workload] of (options.workloads ?? []).entries()) groups.push(groupOf("person", CLOSED, "closed loop, 64 connections", services, 80 + index, workload));
  // As prony: a page of very many rows has no heat maps.
  if (groups.length * options.services > 150) for (const group of groups) for (const row of group.services) delete row.details?.series?.distributions;
  const first = groups[0]!;
  const reference = services.slice(0, 8).map((info, index) => {
    const throughput = 330_000 / (1 + index * 0.5);
    const ours = first.services.find((row) => row.service === info.service && row.variant === info.variant);
    return {
      source: "004",
      contract: first.contract,
      workload: first.workload,
      load_text: first.load_text,
      notes: index === 3 ? ["its rows do not add up: bytes per reply differ by a third"] : [],
      name: info.title,
      service: info.service,
      variant: info.variant,
      throughput_per_s: throughput,
      figures: [
        { metric: "throughput_per_s" as const, published: throughput, ours: positionOf(ours?.throughput_per_s) },
        { metric: "response_time_ns_p99" as const, published: 2e6 * (1 + index), ours: positionOf(ours?.response_time_ns_p99) },
      ],
    };
  });
  return {
    schema: 1,
    run: "2026-11-21T08-30-00-quick",
    suite: "quick",
    started_at: "2026-11-21T08:30:00Z",
    ended_at: "2026-11-21T08:36:40Z",
    state: "ended",
    planned_trials: groups.length * options.services * 5,
    trials: groups.length * options.services * 5,
    seed: "18446744073709551615",
    confidence: 0.95,
    environment: {
      prony: "0.1.0",
      commit: "0123abcd4567",
      repository: "https://git.example/prony/prony.git",
      os: "Debian GNU/Linux 12",
      kernel: "6.1.0",
      cpu: { model: "Made-up 9000 8-Core", online: 2, cores: 1, smt: true, governor: "performance", turbo: false },
      memory_bytes: 24 * 2 ** 30,
      virtualisation: "kvm",
      cgroup: "v2",
      load_average: 0.12,
      runtimes: { Go: "1.26.8", "Node.js": "20.20.2" },
      findings: [{ text: "Generator and service share a core’s two threads.", remedy: "run on a machine with two cores or more" }],
    },
    method: [
      "Each service was started afresh for every trial; the intervals are over those starts, never over the requests of one.",
      "Rounds interleave the services in seeded random order, so that drift of the machine hits all alike.",
      "Response time counts from when the request was due.",
    ],
    services,
    groups,
    checks: { schema: 1, services: checksOf(services.slice(0, 12), options.contracts.slice(0, 2)) },
    reference,
    agreement: [{ source: "004", contract: options.contracts[0]!, workload: options.contracts[0]!, load_text: "closed loop, 64 connections", services: 8, rank_correlation: 0.93 }],
    metrics: metricTable(),
    warnings: [],
  };
}

/** The table of metrics as prony writes it. */
const metricTable = (): MetricTable => Object.fromEntries(METRICS.map((metric) => [metric, { title: metric, unit: "", better: "lower", figures: figuresOf(metric) }]));

function figuresOf(metric: Metric): string[] {
  if (metric === "offered_per_s" || metric === "start_ms") return ["other"];
  if (metric.endsWith("_per_s")) return ["rates"];
  if (metric.startsWith("memory")) return ["memory"];
  if (metric.includes("cpu")) return ["cpu"];
  return /p99|max/.test(metric) ? ["times", "tail"] : ["times"];
}

/** Digits that prony keeps for charts and for single trials on the page; eight for all other numbers. */
const ROUGH: Record<string, number> = { response_time_curve: 3, response_time_density: 3, series: 4 };

function shortened(value: unknown, key = "", digits = 0): unknown {
  if (typeof value === "number") return digits > 0 ? Number(value.toPrecision(digits)) : Number.isInteger(value) ? value : Number(value.toPrecision(8));
  // The shares of a curve keep their nines.
  if (Array.isArray(value)) return value.map((one, at) => shortened(one, key, key === "response_time_curve" && at === 0 && typeof one === "number" ? 6 : digits));
  if (value === null || typeof value !== "object") return value;
  const of = (name: string) => digits || (ROUGH[name] ?? (key === "points" && (METRICS as readonly string[]).includes(name) ? 4 : 0));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one, name, of(name))]));
}

/** Data with more bytes than this is compressed by prony. */
const LONG = 512 * 1024;

/** The metrics as prony declares them, from a report that it wrote. */
const METRIC_TABLE = (JSON.parse(readFileSync(new URL("sample.json", import.meta.url), "utf8")) as { metrics: MetricTable }).metrics;

/** The page as prony serves it: with the table of metrics. */
export const withMetrics = (page: string): string =>
  page.replace('"prony-metrics" type="application/json">{}</script>', () => `"prony-metrics" type="application/json">${JSON.stringify(METRIC_TABLE)}</script>`);

/** The page with a report inside, as prony writes it. */
export function pageWith(page: string, report: unknown): string {
  const json = JSON.stringify(shortened(report));
  const element =
    json.length > LONG
      ? `type="application/gzip">${gzipSync(json, { level: 9 }).toString("base64")}</script>`
      : `type="application/json">${json.replaceAll("<", "\\u003c")}</script>`;
  return withMetrics(page).replace('type="application/json">null</script>', () => element);
}
