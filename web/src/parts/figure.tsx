// The frame of a chart: title with unit, how to read it, export, and the same numbers as a table.

import type { ComponentChildren } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { FRAME_HEIGHT, visibleRange, type Chart } from "../charts/chart.ts";
import { draw, svgOf, type EChartsType } from "../charts/echarts.ts";
import { ScrollTable } from "./elements.tsx";
import { PrintContext, ThemeContext } from "../theme.ts";

/** Distance below the screen at which a chart is already drawn, so that it is ready when it is scrolled to. */
const PRELOAD_MARGIN = "400px";
const EXPORT_WIDTH = 960;

function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Width of a chart on paper, px: A4 and Letter are wider, with usual margins. */
const PAPER_WIDTH = 680;

/**
 * Draws the chart when it comes near the screen or is printed, and keeps it at the size of its frame. The browser prints
 * what there is after the event and its layout effects, so these draw.
 */
function useChart(chart: Chart) {
  const theme = useContext(ThemeContext);
  const printing = useContext(PrintContext);
  const frame = useRef<HTMLDivElement>(null);
  const instance = useRef<EChartsType | null>(null);
  const [near, setNear] = useState(false);
  const [screenWidth, setScreenWidth] = useState(0);
  const [scrolled, setScrolled] = useState(0);
  const drawn = near || printing;
  const width = printing ? PAPER_WIDTH : screenWidth;
  const visible = printing ? undefined : visibleRange(chart, scrolled);
  const [from, to] = [visible?.from, visible?.to];
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && setNear(true), { rootMargin: PRELOAD_MARGIN });
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (!drawn) return;
    const echart = draw(frame.current!);
    instance.current = echart;
    const resize = new ResizeObserver(([entry]) => setScreenWidth(Math.round(entry?.contentRect.width ?? 0)));
    resize.observe(frame.current!);
    setScreenWidth(frame.current!.clientWidth);
    return () => {
      resize.disconnect();
      echart.dispose();
      instance.current = null;
    };
  }, [drawn]);
  useLayoutEffect(() => {
    if (!drawn || width === 0) return;
    const range = from === undefined || to === undefined ? undefined : { from, to };
    instance.current?.resize({ width, height: range ? FRAME_HEIGHT : chart.height });
    instance.current?.setOption(chart.option(theme, width, range), { notMerge: true });
    frame.current!.dataset["drawn"] = theme.mode;
  }, [drawn, chart, theme, width, from, to]);
  return { frame, instance, theme, visible, setScrolled };
}

function NumbersTable(props: { chart: Chart }) {
  const [open, setOpen] = useState(false);
  const { head, rows } = props.chart.table;
  return (
    <details class="numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same as a table</summary>
      {open && (
        <ScrollTable label={`${props.chart.title}, as a table`} columns={head}>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (column === 0 ? <th key={0} scope="row">{cell}</th> : <td key={column}>{cell}</td>))}
            </tr>
          ))}
        </ScrollTable>
      )}
    </details>
  );
}

export function Figure(props: { chart: Chart; wide?: boolean; children?: ComponentChildren }) {
  const { chart } = props;
  const { frame, instance, theme, visible, setScrolled } = useChart(chart);
  const long = visible !== undefined;
  const label = `Chart: ${chart.title}. The same numbers are in the table below.`;
  const png = () => {
    const url = instance.current?.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: theme.background });
    if (!url) return;
    const bytes = Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (character) => character.charCodeAt(0));
    save(`${chart.id}.png`, new Blob([bytes], { type: "image/png" }));
  };
  const svg = () => save(`${chart.id}.svg`, new Blob([svgOf(chart, theme, EXPORT_WIDTH)], { type: "image/svg+xml" }));
  return (
    <figure class={props.wide ? "chart wide" : "chart"} id={`chart-${chart.id}`}>
      <figcaption>
        <h3>{chart.title}</h3>
        <p class="quiet">{chart.reading}</p>
      </figcaption>
      {props.children}
      {/* The same elements in both cases, since the drawing stays in them. */}
      <div class="long-frame">
        <div
          class={long ? "long" : ""}
          style={long ? { height: `${FRAME_HEIGHT}px` } : {}}
          onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}
          {...(long && { tabIndex: 0, role: "region", "aria-label": `${chart.title}: scroll for all ${chart.rows?.count} rows` })}
        >
          <div class="length" style={{ height: `${chart.height}px` }}>
            <div class="canvas" ref={frame} style={{ height: `${long ? FRAME_HEIGHT : chart.height}px` }} role="img" aria-label={label} />
          </div>
        </div>
        {visible && visible.to < chart.rows!.count && <div class="fade" style={{ bottom: `${chart.rows!.below}px` }} />}
      </div>
      {visible && (
        <p class="quiet rows-shown">
          {visible.to - visible.from} of {chart.rows!.count}: scroll for the others
        </p>
      )}
      <div class="chart-foot">
        <NumbersTable chart={chart} />
        <span class="exports">
          <button type="button" onClick={png} aria-label={`Save “${chart.title}” as PNG`}>
            PNG
          </button>
          <button type="button" onClick={svg} aria-label={`Save “${chart.title}” as SVG`}>
            SVG
          </button>
        </span>
      </div>
    </figure>
  );
}
