import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { deflate } from "node:zlib";
import PDFDocument from "pdfkit";
import { runInTurns } from "../../turns.ts";
import type { DailyCost, InvoiceLine } from "../compose.ts";
import { toXmlTexts } from "../xml.ts";
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
  joinChunks,
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
 * Equal input gives equal bytes, for its dates are those of the invoice. Other requests are handled between its pages.
 */
export async function toInvoicePdf(
  one: InvoiceWithLines,
  previous: ComparedInvoice | undefined,
  days: readonly DailyCost[],
): Promise<Buffer> {
  const { invoice, lines } = one;
  const content = await runInTurns(composeContent(one, previous, days));
  return writeFacturX(content, { issuedAt: invoice.issuedAt, xml: toXmlTexts(invoice, toPages(lines)) });
}

/** A document that says what `content` says to people, and what `xml` says to programs. See toInvoicePdf. */
export async function writeFacturX(
  content: InvoiceContent,
  { issuedAt, xml }: { issuedAt: Date; xml: AsyncIterable<string> },
): Promise<Buffer> {
  fonts ??= { regular: readFont("DejaVuSans"), bold: readFont("DejaVuSans-Bold") };
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
      Title: `${content.title} ${content.number}`,
      Creator: "Marina",
      CreationDate: issuedAt,
      ModDate: issuedAt,
    },
  });
  joinChunks(document);
  const written = buffer(document);
  // Fonts are parsed once and reused: parsing one for each document costs more than all of its text.
  for (const name of ["regular", "bold"] as const) document.registerFont(name, fonts[name].font as never);
  document.font("regular");
  document.appendXML(FACTUR_X_METADATA);
  const embedded = await embedXml(document, xml, issuedAt);
  const page = new PdfPage(document, fonts);
  drawFirstPage(page, content);
  const pages = layOutLines(content);
  const { count } = document.bufferedPageRange();
  const drawFooter = (index: number) =>
    drawPageNumber(page, content, { number: index + 1, total: count + pages.length });
  for (let index = 0; index < count; index++) {
    document.switchToPage(index);
    drawFooter(index);
  }
  page.begin("Table");
  for (const [index, rows] of pages.entries()) {
    // A page is written as soon as it is drawn: to write hundreds of them at once takes a third of a second.
    document.flushPages();
    await setImmediate();
    page.next();
    // The table has its header once, however many pages it takes.
    if (index === 0) drawRow(page, () => drawHeader(page, content, "TH"));
    else drawHeader(page, content, "artifact");
    for (const draw of rows) drawRow(page, () => draw(page));
    drawFooter(count + index);
  }
  page.end();
  await setImmediate();
  page.end();
  document.end();
  await setImmediate();
  // With its last object a document writes the table of all objects, which has a line for each.
  embedded.end(undefined);
  return written;
}

const compress = promisify(deflate);
const XML_LINES = 50;

/**
 * Embeds the electronic invoice, as `file` of pdfkit does. That takes a third of a second for 10,000 lines: it hashes in
 * JavaScript and compresses on this thread. Returns the object that names the file, which the caller ends.
 */
async function embedXml(
  document: InstanceType<typeof PDFDocument>,
  texts: AsyncIterable<string>,
  at: Date,
): Promise<PDFKit.PDFKitReference> {
  const hash = createHash("md5");
  const parts: Buffer[] = [];
  for await (const text of texts) {
    const part = Buffer.from(text);
    hash.update(part);
    parts.push(part);
  }
  const xml = Buffer.concat(parts);
  // pdfkit writes a String object as a text, and a string as a name.
  const file = document.ref({
    Type: "EmbeddedFile",
    Subtype: "text#2Fxml",
    Filter: "FlateDecode",
    Params: {
      CheckSum: new String(hash.digest("hex")),
      Size: xml.byteLength,
      CreationDate: at,
      ModDate: at,
    },
  });
  file.end(await compress(xml));
  const specification = document.ref({
    Type: "Filespec",
    AFRelationship: "Alternative",
    F: new String(FACTUR_X_FILE),
    UF: new String(FACTUR_X_FILE),
    EF: { F: file },
    Desc: new String("The electronic document (EN 16931)"),
  });
  // pdfkit's types lack both.
  const { addNamedEmbeddedFile, _root } = document as unknown as EmbeddingDocument;
  addNamedEmbeddedFile.call(document, FACTUR_X_FILE, specification);
  _root.data.AF = [specification];
  return specification;
}

interface EmbeddingDocument {
  addNamedEmbeddedFile: (name: string, specification: object) => void;
  _root: { data: { AF?: object[] } };
}

async function* toPages(lines: readonly InvoiceLine[]): AsyncGenerator<readonly InvoiceLine[]> {
  for (let start = 0; start < lines.length; start += XML_LINES) {
    await setImmediate();
    yield lines.slice(start, start + XML_LINES);
  }
}

function drawPageNumber(
  page: PdfPage,
  content: InvoiceContent,
  { number, total }: { number: number; total: number },
): void {
  const y = PAGE_HEIGHT - MARGIN - 10;
  const placement = { x: MARGIN, y, width: WIDTH, color: COLORS.muted, tag: "artifact" } as const;
  page.write(`${content.title} ${content.number}`, placement);
  page.write(`Page ${number} of ${total}`, { ...placement, align: "right" });
}

/** The rows of each page, as functions that draw them: the lines of each cluster, on as many pages as they need. */
function layOutLines({ clusters }: InvoiceContent): ((page: PdfPage) => void)[][] {
  const pages: ((page: PdfPage) => void)[][] = [];
  let next = BOTTOM;
  const place = (top: number, needed: number, draw: (page: PdfPage, y: number) => void) => {
    const isOnNextPage = top + needed > BOTTOM;
    if (isOnNextPage) pages.push([]);
    const y = isOnNextPage ? TOP : top;
    pages.at(-1)?.push((page) => draw(page, y));
    next = y + ROW_HEIGHT;
  };
  for (const cluster of clusters) {
    place(next + ROW_HEIGHT / 2, 3 * ROW_HEIGHT, (page, y) => drawCluster(page, y, cluster));
    for (const row of cluster.rows) place(next, ROW_HEIGHT, (page, y) => drawLine(page, y, row));
  }
  return pages;
}

function drawRow(page: PdfPage, draw: () => void): void {
  page.begin("TR");
  draw();
  page.end();
}

function drawHeader(
  page: PdfPage,
  { columns: [heading = "", ...numbers] }: InvoiceContent,
  tag: "TH" | "artifact",
): void {
  page.write(heading, { x: MARGIN, y: MARGIN, width: LABEL_WIDTH, isBold: true, tag });
  drawNumbers(page, MARGIN, numbers, tag);
  page.rule(MARGIN + ROW_HEIGHT);
}

/** A row without a price and a quantity, whose cells a table has nevertheless. */
function drawCluster(page: PdfPage, y: number, { name, amount }: ClusterLines): void {
  page.write(name, { x: MARGIN, y, width: WIDTH - COLUMN_WIDTH, isBold: true, tag: "TD" });
  drawNumbers(page, y, ["", "", amount], "TD", true);
}

function drawLine(
  page: PdfPage,
  y: number,
  { label, unitPrice, quantity, amount }: ClusterLines["rows"][number],
): void {
  const width = unitPrice === "" && quantity === "" ? WIDTH - COLUMN_WIDTH : LABEL_WIDTH;
  page.write(label, { x: MARGIN + 10, y, width: width - 10, tag: "TD" });
  drawNumbers(page, y, [unitPrice, quantity, amount], "TD");
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
