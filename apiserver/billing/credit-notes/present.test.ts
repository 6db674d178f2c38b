import { expect, test } from "vitest";
import { aCreditNote } from "../invoices/testing/documents.ts";
import { toPdfOfCreditNote, toXmlOfCreditNote } from "./present.ts";

const DOMESTIC = { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 247n } as const;

test("the electronic credit note names its kind, its reason and its invoice, and asks for no payment", () => {
  const whole = aCreditNote(DOMESTIC);
  const bank = { iban: "DE89370400440532013000" };
  const xml = toXmlOfCreditNote({
    ...whole,
    note: { ...whole.note, supplier: { ...whole.note.supplier, bank } },
  });
  expect(xml).toContain(
    "<ram:ID>M-CN-2026-000001</ram:ID><ram:TypeCode>381</ram:TypeCode>" +
      '<ram:IssueDateTime><udt:DateTimeString format="102">20261114</udt:DateTimeString></ram:IssueDateTime>' +
      "<ram:IncludedNote><ram:Content>The control plane could not be reached.</ram:Content></ram:IncludedNote>",
  );
  expect(xml).toContain(
    "<ram:InvoiceReferencedDocument><ram:IssuerAssignedID>M-2026-000001</ram:IssuerAssignedID>" +
      '<ram:FormattedIssueDateTime><qdt:DateTimeString format="102">20261101</qdt:DateTimeString>',
  );
  expect(xml).toContain("<ram:GrandTotalAmount>15.47</ram:GrandTotalAmount>");
  expect(xml).not.toContain(bank.iban);
});

test("equal credit notes are equal files, which are PDF", async () => {
  const document = Buffer.from(await toPdfOfCreditNote(aCreditNote(DOMESTIC)));
  expect(document.toString("latin1")).toMatch(/^%PDF-1\.7/);
  expect(Buffer.from(await toPdfOfCreditNote(aCreditNote(DOMESTIC)))).toEqual(document);
});
