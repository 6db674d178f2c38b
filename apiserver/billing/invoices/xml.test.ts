import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { aLine, anInvoice } from "./testing/documents.ts";
import { toInvoiceXml, toXmlTexts } from "./xml.ts";

const BUYER_REFERENCE = "<ram:ApplicableHeaderTradeAgreement>";

test.each([[[]], [[3]], [[2, 0, 1]]])(
  "lines that are read in pages of %j are the same document",
  async (sizes) => {
    const invoice = anInvoice(300n, {
      vatCase: "domestic",
      vatBasisPoints: 1900,
      reference: BUYER_REFERENCE,
    });
    const pages = sizes.map((size) =>
      Array.from({ length: size }, () => aLine({ clusterName: BUYER_REFERENCE })),
    );
    const written = await text(toXmlTexts(invoice, ReadableStream.from(pages)));
    expect(written).toBe(toInvoiceXml(invoice, pages.flat()));
  },
);
