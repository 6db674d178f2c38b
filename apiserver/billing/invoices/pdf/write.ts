import { buffer } from "node:stream/consumers";
import PDFDocument from "pdfkit";
import type { DailyCost } from "../daily-costs.ts";
import { toInvoiceXml } from "../xml.ts";
import { composeContent, type InvoiceContent, type InvoiceWithLines } from "./content.ts";
import { drawFirstPage } from "./draw-first-page.ts";
import { drawLines } from "./draw-lines.ts";
import { FACTUR_X_FILE, FACTUR_X_METADATA } from "./factur-x.ts";
import { readFont } from "./fonts.ts";
import { COLORS, type Fonts, MARGIN, PAGE_HEIGHT, PdfPage, WIDTH } from "./page.ts";

let fonts: Fonts | undefined;

/**
 * An invoice as a Factur-X document: PDF/A-3b (ISO 19005-3) that embeds the electronic invoice of EN 16931. Equal input
 * gives equal bytes, for its dates are those of the invoice.
 */
export async function toInvoicePdf(
  one: InvoiceWithLines,
  previous: InvoiceWithLines | undefined,
  days: readonly DailyCost[],
): Promise<Buffer> {
  fonts ??= { regular: readFont("DejaVuSans"), bold: readFont("DejaVuSans-Bold") };
  const content = composeContent(one, previous, days);
  const { issuedAt } = one.invoice;
  const document = new PDFDocument({
    size: "A4",
    margin: MARGIN,
    bufferPages: true,
    pdfVersion: "1.7",
    subset: "PDF/A-3b",
    // No font of PDF itself, which PDF/A does not permit.
    font: null as never,
    info: {
      Title: `Invoice ${content.number}`,
      Creator: "Marina",
      CreationDate: issuedAt,
      ModDate: issuedAt,
    },
  });
  const written = buffer(document);
  // Fonts that were read before are taken as they are: to read one for each document costs more than all of its text.
  for (const name of ["regular", "bold"] as const) document.registerFont(name, fonts[name].font as never);
  document.font("regular");
  document.appendXML(FACTUR_X_METADATA);
  document.file(Buffer.from(toInvoiceXml(one.invoice, one.lines)), {
    name: FACTUR_X_FILE,
    type: "text/xml",
    relationship: "Alternative",
    description: "The electronic invoice (EN 16931)",
    creationDate: issuedAt,
    modifiedDate: issuedAt,
  } as never);
  const page = new PdfPage(document, fonts);
  drawFirstPage(page, content);
  await drawLines(page, content);
  drawFooters(document, page, content);
  document.end();
  return written;
}

function drawFooters(
  document: InstanceType<typeof PDFDocument>,
  page: PdfPage,
  { number }: InvoiceContent,
): void {
  const { start, count } = document.bufferedPageRange();
  for (let index = start; index < start + count; index++) {
    document.switchToPage(index);
    const y = PAGE_HEIGHT - MARGIN - 10;
    page.write(`Invoice ${number}`, { x: MARGIN, y, width: WIDTH, color: COLORS.muted });
    page.write(`Page ${index + 1} of ${count}`, {
      x: MARGIN,
      y,
      width: WIDTH,
      align: "right",
      color: COLORS.muted,
    });
  }
}
