// Elements that several sections of the page share.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { idOf, type Row, type Services, type Warning } from "../data.ts";
import { words } from "../format.ts";
import { affectedFigures, byLevel, levelOf } from "../warnings.ts";

export function TableHead(props: { columns: string[] }) {
  return (
    <thead>
      <tr>
        {props.columns.map((column) => (
          <th key={column} scope="col">
            {column}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** A frame that scrolls sideways, also by keyboard. It fades at the side where it hides something. */
export function Scroll(props: { label: string; class?: string; children: ComponentChildren }) {
  const frame = useRef<HTMLDivElement>(null);
  const update = () => {
    if (!frame.current) return;
    const { scrollLeft, scrollWidth, clientWidth, classList } = frame.current;
    classList.toggle("more-left", scrollLeft > 1);
    classList.toggle("more-right", scrollLeft + clientWidth < scrollWidth - 1);
  };
  useLayoutEffect(update);
  useEffect(() => {
    const resize = new ResizeObserver(update);
    resize.observe(frame.current!);
    return () => resize.disconnect();
  }, []);
  return (
    <div class={`scroll ${props.class ?? ""}`} ref={frame} onScroll={update} tabIndex={0} role="region" aria-label={props.label}>
      {props.children}
    </div>
  );
}

/** A table in a frame that scrolls; `children` are its rows. */
export function ScrollTable(props: { label: string; class?: string; caption?: string; columns: string[]; children: ComponentChildren }) {
  return (
    <Scroll label={props.label}>
      <table class={props.class ?? "plain"}>
        {props.caption && <caption>{props.caption}</caption>}
        <TableHead columns={props.columns} />
        <tbody>{props.children}</tbody>
      </table>
    </Scroll>
  );
}

/** A sentence in which back-quotes enclose code. */
export function Prose(props: { text: string }) {
  const parts = props.text.split("`");
  if (parts.length % 2 === 0) return <>{props.text}</>;
  return <>{parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

/** Name and value. */
export type Fact = [string, ComponentChildren];

export function Facts(props: { facts: Fact[] }) {
  return (
    <dl class="pairs-list">
      {props.facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A choice among services; `choose` gets the id of a row. */
export function ServiceSelect(props: { label: string; class?: string; rows: Row[]; value: string; services: Services; choose: (id: string) => void }) {
  return (
    <label class={props.class ?? "field"}>
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
        {props.rows.map((row) => (
          <option key={idOf(row)} value={idOf(row)}>
            {props.services.name(idOf(row))}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Warnings with the numbers that they affect, and notes. */
export function Warnings(props: { warnings: Warning[] }) {
  if (props.warnings.length === 0) return null;
  return (
    <ul class="warnings">
      {byLevel(props.warnings).map((warning, index) => {
        const doubt = levelOf(warning) !== "note";
        return (
          <li key={index} class={doubt ? "doubt" : "note-level"}>
            <span class="sign" aria-hidden="true">
              {doubt ? "⚠" : "i"}
            </span>
            <span>
              <b>
                {doubt ? "" : "note: "}
                {words(warning.kind)}
              </b>
              : <Prose text={warning.text} />
              {warning.advice && (
                <span>
                  {" "}
                  → <Prose text={warning.advice} />
                </span>
              )}
              {doubt && <span class="quiet"> Affects {affectedFigures(warning)}.</span>}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
