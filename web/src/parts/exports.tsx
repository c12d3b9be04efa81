// A ranking as text for other documents: Markdown for the clipboard, and a CSV file.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { hasNoBound, idOf, isEstimate, isLowerBound, noBound, positionOf, type Group, type Row, type Services } from "../data.ts";
import { infoOf, isExact, isSigned, quantityOf, type Figure } from "../figures.ts";
import { humanize, inUnit, signedInterval, unitFor, withUnit } from "../format.ts";
import { estimateWithUnit, toBaseUnit } from "../metrics.ts";
import { save } from "./figure.tsx";

interface Props {
  group: Group;
  rows: Row[];
  services: Services;
  columns: Figure[];
}

const rankOf = (row: Row): string => {
  if (row.rank_low === null || row.rank_high === null) return "–";
  return row.rank_low === row.rank_high ? String(row.rank_low) : `${row.rank_low}–${row.rank_high}`;
};

/** A value as the table shows it, with its unit. */
function shown(row: Row, figure: Figure): string {
  const quantity = quantityOf(row, figure);
  if (quantity == null) return "–";
  if (hasNoBound(quantity)) return noBound(quantity);
  const { dimension } = infoOf(figure);
  const bound = isLowerBound(row, figure) ? "≥ " : "";
  const position = toBaseUnit(figure, positionOf(quantity) ?? 0);
  if (isExact(figure)) return humanize(position, dimension);
  if (!isEstimate(quantity)) return `${bound}${humanize(position, dimension)} (1 trial)`;
  const unit = unitFor(dimension, [Math.abs(position)]);
  if (isSigned(figure)) {
    const { value, half } = signedInterval(quantity, (one) => inUnit(one, unit));
    return `${value} ${unit.symbol} (${half})`;
  }
  return bound + (quantity.low === quantity.high ? withUnit(position, unit) : estimateWithUnit(figure, quantity, unit));
}

/** The rows in their order, as a table of Markdown. */
export function rankingMarkdown({ group, rows, services, columns }: Props): string {
  const cell = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("\n", " ");
  const line = (cells: string[]) => `| ${cells.map(cell).join(" | ")} |`;
  const head = ["Rank", "Service", ...columns.map((figure) => infoOf(figure).title)];
  const body = rows.map((row) =>
    row.excluded
      ? [rankOf(row), services.name(idOf(row)), `excluded: ${row.excluded.reason}`, ...columns.slice(1).map(() => "")]
      : [rankOf(row), services.name(idOf(row)), ...columns.map((figure) => shown(row, figure))],
  );
  const rule = `|${head.map((_, index) => (index === 1 ? "---" : "--:")).join("|")}|`;
  return `${[`${group.contract}, ${group.workload}: ${group.load_text}`, "", line(head), rule, ...body.map(line)].join("\n")}\n`;
}

/** The same rows with the ends of the intervals, in the units of the JSON. */
export function rankingCsv({ rows, columns }: Props): string {
  // A cell that begins like a formula would be one in a spreadsheet.
  const cell = (value: string | number | null | undefined) => {
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const head = ["rank_low", "rank_high", "service", "variant", ...columns.flatMap((figure) => [figure, `${figure}_low`, `${figure}_high`]), "excluded"];
  const body = rows.map((row) => [
    row.rank_low,
    row.rank_high,
    row.service,
    row.variant,
    ...columns.flatMap((figure) => {
      const quantity = quantityOf(row, figure);
      if (quantity == null) return ["", "", ""];
      if (hasNoBound(quantity)) return ["no bound", "", ""];
      return isEstimate(quantity) ? [quantity.point, quantity.low, quantity.high] : [positionOf(quantity), "", ""];
    }),
    row.excluded?.reason,
  ]);
  return [head, ...body].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

/** A page from disk or from another machine may be denied the clipboard: then an invisible field is copied. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

export function RankingExports(props: Props & { children?: ComponentChildren }) {
  const [copied, setCopied] = useState(false);
  return (
    <p class="exports ranking-exports">
      {props.children}
      <button type="button" onClick={() => void copy(rankingMarkdown(props)).then(() => setCopied(true))}>
        Copy as Markdown
      </button>
      <button type="button" onClick={() => save("ranking.csv", new Blob([rankingCsv(props)], { type: "text/csv" }))}>
        CSV
      </button>
      <span class="quiet" role="status">
        {copied && "Copied"}
      </span>
    </p>
  );
}
