// The parts of ECharts that the page uses, and no others: they make up most of its size.

import { BarChart, CustomChart, LineChart, RadarChart, ScatterChart } from "echarts/charts";
import {
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  RadarComponent,
  TooltipComponent,
} from "echarts/components";
import { LabelLayout } from "echarts/features";
import { init, use, type EChartsType } from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import type { Theme } from "../theme.ts";
import type { Chart } from "./chart.ts";

use([
  BarChart,
  CanvasRenderer,
  CustomChart,
  GridComponent,
  LegendComponent,
  LabelLayout,
  LineChart,
  MarkAreaComponent,
  MarkLineComponent,
  RadarChart,
  RadarComponent,
  SVGRenderer,
  ScatterChart,
  TooltipComponent,
]);

export type { EChartsType };

export const draw = (element: HTMLElement): EChartsType => init(element, null, { renderer: "canvas" });

/** The chart as SVG text of a given width. */
export function svgOf(chart: Chart, theme: Theme, width: number): string {
  const instance = init(null, null, { renderer: "svg", ssr: true, width, height: chart.height });
  instance.setOption(chart.option(theme, width));
  const text = instance.renderToSVGString();
  instance.dispose();
  return text;
}
