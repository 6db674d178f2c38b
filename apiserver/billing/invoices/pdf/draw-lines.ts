import { setImmediate } from "node:timers/promises";
import type { ClusterLines, InvoiceContent } from "./content.ts";
import { COLORS, MARGIN, PAGE_HEIGHT, type PdfPage, RIGHT, ROW_HEIGHT, WIDTH } from "./page.ts";

const COLUMN_WIDTH = 105;
const LABEL_WIDTH = WIDTH - 3 * COLUMN_WIDTH;
const TOP = MARGIN + 24;
const BOTTOM = PAGE_HEIGHT - MARGIN - 2 * ROW_HEIGHT;

/** Draws the lines of each cluster, on as many pages as they need. Other requests are handled between two pages. */
export async function drawLines(page: PdfPage, { clusters, linesLeftOut }: InvoiceContent): Promise<void> {
  let y = BOTTOM;
  const moveTo = async (next: number, needed: number) => {
    y = next;
    if (y + needed <= BOTTOM) return;
    await setImmediate();
    page.next();
    drawHeader(page);
    y = TOP;
  };
  for (const cluster of clusters) {
    await moveTo(y + ROW_HEIGHT / 2, 3 * ROW_HEIGHT);
    drawCluster(page, y, cluster);
    y += ROW_HEIGHT;
    for (const { label, ...numbers } of cluster.rows) {
      await moveTo(y, ROW_HEIGHT);
      page.write(label, { x: MARGIN + 10, y, width: LABEL_WIDTH - 10 });
      drawNumbers(page, y, [numbers.unitPrice, numbers.quantity, numbers.amount]);
      y += ROW_HEIGHT;
    }
  }
  if (linesLeftOut === 0) return;
  await moveTo(y + ROW_HEIGHT / 2, ROW_HEIGHT);
  const note = `${linesLeftOut} further lines are in the electronic invoice and in the CSV file.`;
  page.write(note, { x: MARGIN, y, width: WIDTH });
}

function drawHeader(page: PdfPage): void {
  page.write("Lines by cluster", { x: MARGIN, y: MARGIN, width: LABEL_WIDTH, isBold: true });
  drawNumbers(page, MARGIN, ["EUR per month", "unit hours", "EUR"]);
  page.rule(MARGIN + ROW_HEIGHT);
}

function drawCluster(page: PdfPage, y: number, { name, amount }: ClusterLines): void {
  page.write(name, { x: MARGIN, y, width: WIDTH - COLUMN_WIDTH, isBold: true });
  page.write(amount, { x: RIGHT - COLUMN_WIDTH, y, width: COLUMN_WIDTH, align: "right", isBold: true });
}

function drawNumbers(page: PdfPage, y: number, texts: readonly string[]): void {
  texts.forEach((text, index) => {
    const x = RIGHT - (texts.length - index) * COLUMN_WIDTH;
    page.write(text, { x, y, width: COLUMN_WIDTH, align: "right", color: COLORS.text });
  });
}
