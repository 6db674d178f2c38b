import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import PDFDocument from "pdfkit";
import type { DailyCost } from "../daily-costs.ts";
import { toInvoiceXml } from "../xml.ts";
import {
  type ClusterLines,
  type ComparedInvoice,
  composeContent,
  type InvoiceContent,
  type InvoiceWithLines,
} from "./content.ts";
import { drawFirstPage } from "./draw-first-page.ts";
import {
  COLORS,
  type Fonts,
  MARGIN,
  PAGE_HEIGHT,
  PdfPage,
  RIGHT,
  ROW_HEIGHT,
  readFont,
  WIDTH,
} from "./page.ts";

/** The file in a Factur-X document that holds the electronic invoice (Factur-X 1.0, 6.2). */
const FACTUR_X_FILE = "factur-x.xml";

const NAMESPACE = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#";

const PROPERTIES = {
  DocumentType: "INVOICE",
  DocumentFileName: FACTUR_X_FILE,
  Version: "1.0",
  ConformanceLevel: "EN 16931",
};

/**
 * The XMP metadata that makes a PDF/A-3 a Factur-X document, and the extension schema that PDF/A wants them described
 * by.
 */
const FACTUR_X_METADATA = `
<rdf:Description rdf:about="" xmlns:fx="${NAMESPACE}">
${Object.entries(PROPERTIES)
  .map(([name, value]) => `<fx:${name}>${value}</fx:${name}>`)
  .join("\n")}
</rdf:Description>
<rdf:Description rdf:about=""
  xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
  xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
  xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>${NAMESPACE}</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>fx</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq>
${Object.keys(PROPERTIES).map(describeProperty).join("\n")}
</rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas>
</rdf:Description>`;

const COLUMN_WIDTH = 105;

const LABEL_WIDTH = WIDTH - 3 * COLUMN_WIDTH;

const TOP = MARGIN + 24;

const BOTTOM = PAGE_HEIGHT - MARGIN - 2 * ROW_HEIGHT;

let fonts: Fonts | undefined;

/**
 * An invoice as a Factur-X document: tagged PDF/A-3a (ISO 19005-3) that embeds the electronic invoice of EN 16931.
 * Equal input gives equal bytes, for its dates are those of the invoice.
 */
export async function toInvoicePdf(
  one: InvoiceWithLines,
  previous: ComparedInvoice | undefined,
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
    subset: "PDF/A-3a",
    tagged: true,
    lang: "en",
    displayTitle: true,
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
  // Fonts are parsed once and reused: parsing one for each document costs more than all of its text.
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
  page.end();
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
    const placement = { x: MARGIN, y, width: WIDTH, color: COLORS.muted, tag: "artifact" } as const;
    page.write(`Invoice ${number}`, placement);
    page.write(`Page ${index + 1} of ${count}`, { ...placement, align: "right" });
  }
}

/** Draws the lines of each cluster, on as many pages as they need. Other requests are handled between two pages. */
async function drawLines(page: PdfPage, { clusters }: InvoiceContent): Promise<void> {
  let y = BOTTOM;
  let hasHeader = false;
  const moveTo = async (next: number, needed: number) => {
    y = next;
    if (y + needed <= BOTTOM) return;
    await setImmediate();
    page.next();
    // The table has its header once, however many pages it takes.
    if (hasHeader) drawHeader(page, "artifact");
    else drawRow(page, () => drawHeader(page, "TH"));
    hasHeader = true;
    y = TOP;
  };
  page.begin("Table");
  for (const cluster of clusters) {
    await moveTo(y + ROW_HEIGHT / 2, 3 * ROW_HEIGHT);
    drawRow(page, () => drawCluster(page, y, cluster));
    y += ROW_HEIGHT;
    for (const { label, ...numbers } of cluster.rows) {
      await moveTo(y, ROW_HEIGHT);
      drawRow(page, () => {
        page.write(label, { x: MARGIN + 10, y, width: LABEL_WIDTH - 10, tag: "TD" });
        drawNumbers(page, y, [numbers.unitPrice, numbers.quantity, numbers.amount], "TD");
      });
      y += ROW_HEIGHT;
    }
  }
  page.end();
}

function drawRow(page: PdfPage, draw: () => void): void {
  page.begin("TR");
  draw();
  page.end();
}

function drawHeader(page: PdfPage, tag: "TH" | "artifact"): void {
  page.write("Lines by cluster", { x: MARGIN, y: MARGIN, width: LABEL_WIDTH, isBold: true, tag });
  drawNumbers(page, MARGIN, ["EUR per month", "unit hours", "EUR"], tag);
  page.rule(MARGIN + ROW_HEIGHT);
}

/** A row without a price and a quantity, whose cells a table has nevertheless. */
function drawCluster(page: PdfPage, y: number, { name, amount }: ClusterLines): void {
  page.write(name, { x: MARGIN, y, width: WIDTH - COLUMN_WIDTH, isBold: true, tag: "TD" });
  drawNumbers(page, y, ["", "", amount], "TD", true);
}

function drawNumbers(
  page: PdfPage,
  y: number,
  texts: readonly string[],
  tag: "TH" | "TD" | "artifact",
  isBold = false,
): void {
  texts.forEach((text, index) => {
    const x = RIGHT - (texts.length - index) * COLUMN_WIDTH;
    page.write(text, { x, y, width: COLUMN_WIDTH, align: "right", isBold, tag });
  });
}

function describeProperty(name: string): string {
  return `<rdf:li rdf:parseType="Resource">
<pdfaProperty:name>${name}</pdfaProperty:name>
<pdfaProperty:valueType>Text</pdfaProperty:valueType>
<pdfaProperty:category>external</pdfaProperty:category>
<pdfaProperty:description>${name} of the embedded electronic invoice</pdfaProperty:description>
</rdf:li>`;
}
