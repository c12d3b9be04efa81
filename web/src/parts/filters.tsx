// Which services are shown. The filter applies to the table and to every chart below it.

import { idOf, type Row, type Services } from "../data.ts";
import { plural } from "../format.ts";

export interface Filter {
  text: string;
  language: string;
  class: string;
  variant: string;
}

export const NO_FILTER: Filter = { text: "", language: "", class: "", variant: "" };

export function matchesFilter(row: Row, filter: Filter, services: Services): boolean {
  const info = services.info(idOf(row));
  if (filter.language && info?.language !== filter.language) return false;
  if (filter.class && info?.class !== filter.class) return false;
  if (filter.variant && row.variant !== filter.variant) return false;
  if (!filter.text) return true;
  const text = [idOf(row), info?.title, info?.language, info?.framework].join(" ").toLowerCase();
  return text.includes(filter.text.toLowerCase().trim());
}

function Choice(props: { label: string; value: string; options: string[]; choose: (value: string) => void }) {
  if (props.options.length < 2) return null;
  return (
    <label class="field">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
        <option value="">all</option>
        {props.options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Filters(props: {
  rows: Row[];
  services: Services;
  filter: Filter;
  change: (filter: Filter) => void;
  shown: number;
}) {
  const { rows, services, filter, change } = props;
  const options = (of: (row: Row) => string | undefined): string[] =>
    [...new Set(rows.flatMap((row) => of(row) ?? []))].sort((left, right) => left.localeCompare(right));
  const info = (row: Row) => services.info(idOf(row));
  return (
    <div class="filters" role="search" aria-label="Filter the services">
      <label class="field">
        <span>Find</span>
        <input
          type="search"
          placeholder="service, language …"
          value={filter.text}
          onInput={(event) => change({ ...filter, text: event.currentTarget.value })}
        />
      </label>
      <Choice label="Language" value={filter.language} options={options((row) => info(row)?.language)} choose={(language) => change({ ...filter, language })} />
      <Choice label="Class" value={filter.class} options={options((row) => info(row)?.class)} choose={(value) => change({ ...filter, class: value })} />
      <Choice label="Variant" value={filter.variant} options={options((row) => row.variant)} choose={(variant) => change({ ...filter, variant })} />
      <p class="quiet" role="status">
        {props.shown === rows.length ? plural(rows.length, "service") : `${props.shown} of ${plural(rows.length, "service")}`}
      </p>
    </div>
  );
}
