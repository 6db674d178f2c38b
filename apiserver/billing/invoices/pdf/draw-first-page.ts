import { formatCents } from "../../money.ts";
import { BAR_SHARE, type Frame, layOutBars } from "./chart.ts";
import type { ChartSeries, InvoiceContent } from "./content.ts";
import {
  BODY_SIZE,
  COLORS,
  MARGIN,
  PAGE_HEIGHT,
  type PdfPage,
  type Placement,
  RIGHT,
  ROW_HEIGHT,
  WIDTH,
} from "./page.ts";

const TITLE_SIZE = 20;
const HEADING_SIZE = 11;
const PARTY_WIDTH = WIDTH * 0.55;
/** Enough for the longest name and address that a profile may have. */
const PARTY_LINES = 6;
/** Enough for how to pay, and for the longest reason of a credit note. */
const NOTE_LINES = 16;
const MAX_CHART_HEIGHT = 200;
const MIN_CHART_HEIGHT = 90;
const LEGEND_COLUMNS = 3;
const LEGEND_ROW_HEIGHT = 12;
const SWATCH = 7;
const DAY_SIZE = 6;
const COLUMN_WIDTH = 95;
const SECTION_GAP = 2 * ROW_HEIGHT;
/** Where the footer begins. */
const BOTTOM = PAGE_HEIGHT - MARGIN - 20;

/** Draws what people look for: who, how much, what changed, and a chart of the days. */
export function drawFirstPage(page: PdfPage, content: InvoiceContent): void {
  const addressEnd = Math.max(drawSupplier(page, content), drawTitle(page, content));
  const partiesTop = addressEnd + SECTION_GAP;
  const partiesEnd = Math.max(drawBuyer(page, partiesTop, content), drawTotal(page, partiesTop, content));
  const notesEnd = page.write(content.notes.join(" "), {
    x: MARGIN,
    y: partiesEnd + ROW_HEIGHT,
    width: WIDTH,
    maxLines: NOTE_LINES,
  });
  const comparisonEnd = drawComparison(page, notesEnd + SECTION_GAP, content);
  drawChart(page, comparisonEnd + SECTION_GAP, content);
}

function drawSupplier(page: PdfPage, { supplier: [name = "", ...address] }: InvoiceContent): number {
  const column = { x: MARGIN, width: PARTY_WIDTH, maxLines: PARTY_LINES };
  const y = page.write(name, { ...column, y: MARGIN, isBold: true, size: HEADING_SIZE });
  return writeRows(page, y + 3, address, { ...column, color: COLORS.muted });
}

function drawTitle(page: PdfPage, { title, number, issuedOn, period, references }: InvoiceContent): number {
  // Beside the supplier: a reference may have 100 characters.
  const column = {
    x: MARGIN + PARTY_WIDTH,
    width: WIDTH - PARTY_WIDTH,
    maxLines: 4,
    align: "right" as const,
  };
  page.write(title, { ...column, y: MARGIN, isBold: true, size: TITLE_SIZE, tag: "H1" });
  const dates = [`Issued on ${issuedOn}`, `Service period ${period}`];
  const rows = [`Number ${number}`, ...dates, ...references];
  return writeRows(page, MARGIN + 28, rows, column);
}

function drawBuyer(page: PdfPage, top: number, { buyer: [name = "", ...address] }: InvoiceContent): number {
  const column = { x: MARGIN, width: PARTY_WIDTH, maxLines: PARTY_LINES };
  const y = page.write("To", { ...column, y: top, color: COLORS.muted });
  return writeRows(page, page.write(name, { ...column, y, isBold: true }), address, column);
}

function drawTotal(page: PdfPage, top: number, { total, sums }: InvoiceContent): number {
  const column = { x: MARGIN, width: WIDTH, align: "right" as const };
  const y = page.write("Total", { ...column, y: top, color: COLORS.muted });
  page.write(total, { ...column, y, isBold: true, size: TITLE_SIZE });
  const rows = sums.map(({ label, amount }) => `${label}  ${amount}`);
  return writeRows(page, y + 30, rows, column);
}

function drawComparison(page: PdfPage, top: number, { comparison }: InvoiceContent): number {
  if (comparison === undefined) return top;
  const { heading, columns, rows } = comparison;
  const label = { x: MARGIN, width: WIDTH - columns.length * COLUMN_WIDTH };
  page.begin("Table");
  page.begin("TR");
  let y = page.write(heading, { ...label, y: top, isBold: true, tag: "TH" }) + 4;
  drawNumbers(page, top, columns, { tag: "TH" });
  page.end();
  for (const [index, row] of rows.entries()) {
    const isBold = index === rows.length - 1;
    if (isBold) page.rule(y - 2);
    const rowTop = y;
    page.begin("TR");
    y = page.write(row.label, { ...label, y, isBold, tag: "TD" });
    drawNumbers(page, rowTop, row.amounts, { isBold, tag: "TD" });
    page.end();
  }
  page.end();
  return y;
}

function drawNumbers(
  page: PdfPage,
  y: number,
  texts: readonly string[],
  style: Pick<Placement, "isBold" | "tag">,
): void {
  texts.forEach((text, index) => {
    const x = RIGHT - (texts.length - index) * COLUMN_WIDTH;
    page.write(text, { x, y, width: COLUMN_WIDTH, align: "right", ...style });
  });
}

/** Draws the chart on the rest of the page, or on a separate page when the rest is too small. */
function drawChart(page: PdfPage, top: number, { chart, days }: InvoiceContent): void {
  const legendHeight = Math.ceil(chart.length / LEGEND_COLUMNS) * LEGEND_ROW_HEIGHT;
  const heightFrom = (y: number) =>
    Math.min(MAX_CHART_HEIGHT, BOTTOM - y - SECTION_GAP - 2 * ROW_HEIGHT - legendHeight);
  const isOnNextPage = heightFrom(top) < MIN_CHART_HEIGHT;
  const y = isOnNextPage ? MARGIN : top;
  const frame = { x: MARGIN, y: y + SECTION_GAP, width: WIDTH, height: heightFrom(y) };
  const { bars, topCents } = layOutBars(chart, frame);
  if (bars.length === 0) return;
  if (isOnNextPage) page.next();
  page.write("Cost per day, without corrections of earlier months", {
    x: MARGIN,
    y,
    width: WIDTH,
    isBold: true,
    tag: "H2",
  });
  const highest = `highest day ${formatCents(BigInt(topCents))} EUR`;
  page.write(highest, { x: MARGIN, y, width: WIDTH, align: "right", color: COLORS.muted });
  page.figure(describeChart({ chart, days }), () => {
    for (const { series, ...bar } of bars) page.fill(bar, page.seriesColor(chart[series]?.place ?? 0));
    const bottom = frame.y + frame.height;
    page.rule(bottom);
    drawDays(page, bottom + 4, frame, days);
    drawLegend(page, bottom + ROW_HEIGHT + 6, chart);
  });
}

/** The chart in words: what each day costs. */
function describeChart({ chart, days }: Pick<InvoiceContent, "chart" | "days">): string {
  const sums = days.map((day, index) => {
    const cents = chart.reduce((sum, series) => sum + (series.cents[index] ?? 0), 0);
    return `${day} ${formatCents(BigInt(cents))} EUR`;
  });
  return `Cost per day: ${sums.join(", ")}`;
}

function drawDays(page: PdfPage, y: number, frame: Frame, days: readonly string[]): void {
  const width = frame.width / days.length;
  days.forEach((day, index) => {
    const x = frame.x + index * width;
    page.write(String(Number(day.slice(-2))), {
      x,
      y,
      width: width * BAR_SHARE,
      align: "center",
      size: DAY_SIZE,
      color: COLORS.muted,
    });
  });
}

function drawLegend(page: PdfPage, top: number, chart: readonly ChartSeries[]): void {
  const columnWidth = WIDTH / LEGEND_COLUMNS;
  chart.forEach(({ label, place }, index) => {
    const x = MARGIN + (index % LEGEND_COLUMNS) * columnWidth;
    const y = top + Math.floor(index / LEGEND_COLUMNS) * LEGEND_ROW_HEIGHT;
    page.fill({ x, y: y + 1, width: SWATCH, height: SWATCH }, page.seriesColor(place));
    const width = columnWidth - SWATCH - 8;
    page.write(label, { x: x + SWATCH + 4, y, width, size: BODY_SIZE - 1 });
  });
}

function writeRows(
  page: PdfPage,
  top: number,
  texts: readonly string[],
  placement: Omit<Placement, "y">,
): number {
  return texts.reduce((y, text) => page.write(text, { ...placement, y }), top);
}
