import { Readable } from "node:stream";
import { inflateSync } from "node:zlib";
import PDFDocument from "pdfkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { sumCents } from "../../rating/lines.ts";
import { measureTurns } from "../../testing.ts";
import { aLine, anInvoice } from "../testing/documents.ts";
import { toInvoiceXml } from "../xml.ts";
import { toInvoicePdf } from "./write.ts";

const lines = Array.from({ length: 1000 }, (_, index) =>
  aLine({ clusterId: String(Math.floor(index / 10)) }),
);
const invoice = anInvoice(sumCents(lines), { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 19_000n });

/** The whole of a document that pdfkit compresses in parts. */
function readEmbeddedFile(document: Buffer): string {
  const text = document.toString("latin1");
  const object = text.indexOf("/Type /EmbeddedFile");
  const start = text.indexOf("stream\n", object) + "stream\n".length;
  return inflateSync(document.subarray(start, text.indexOf("\nendstream", start))).toString();
}

test("others have their turn between the pages of a long document and parts of its XML", async () => {
  const write = () => toInvoicePdf({ invoice, lines }, undefined, []);
  await write();
  const { longestPart } = await measureTurns(write);
  expect(longestPart).toBeLessThan(0.15);
});

test("the electronic invoice inside is the same as by itself, and equal invoices are equal files", async () => {
  const some = { invoice, lines: lines.slice(0, 120) };
  const document = await toInvoicePdf(some, undefined, []);
  expect(readEmbeddedFile(document)).toBe(toInvoiceXml(invoice, some.lines));
  expect(await toInvoicePdf(some, undefined, [])).toEqual(document);
});

test("a document is passed on many lines at a time, and others have a turn before its table of objects", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  const push = vi.spyOn(Readable.prototype, "push");
  const { prototype } = PDFDocument as unknown as { prototype: Pick<PDFKit.PDFDocument, "end"> };
  const end = vi.spyOn(prototype, "end");
  const takeTurn = vi.fn<() => void>(() => {
    timer = setImmediate(takeTurn);
  });
  let timer = setImmediate(takeTurn);
  const document = await toInvoicePdf({ invoice, lines }, undefined, []);
  clearImmediate(timer);
  const pushes = push.mock.invocationCallOrder.filter(
    (_, index) => push.mock.contexts[index] instanceof PDFDocument,
  );
  expect(pushes.length).toBeLessThan(document.toString("latin1").split("\n").length / 1000 + 3);
  const [ended = 0] = end.mock.invocationCallOrder;
  const last = pushes.at(-1) ?? 0;
  expect(takeTurn.mock.invocationCallOrder.filter((turn) => turn > ended && turn < last)).not.toEqual([]);
});
