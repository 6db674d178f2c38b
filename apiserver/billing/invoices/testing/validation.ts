import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ensureMustang,
  findInvoiceFaults,
  judgeFolder,
  readRules,
} from "../../../../e2e/contract/invoices/mustang.ts";
import { toPdfOfCreditNote, toXmlOfCreditNote, type WholeCreditNote } from "../../credit-notes/present.ts";
import { CODE_LISTS } from "../code-lists.ts";
import { toInvoicePdf } from "../pdf/write.ts";
import { toInvoiceXml } from "../xml.ts";
import { aCreditNote, aLine, anInvoice, type InvoiceTerms } from "./documents.ts";

const lines = [
  aLine({ amountCents: 10_000n }),
  aLine({ amountCents: 3_000n, clusterName: 'Produktion & <Prüfung> "1"', resourceType: "vcpu" }),
];

/** What the days of October 2026 cost: one more cent each day, the first one nothing. */
const days = Array.from({ length: 31 }, (_, index) => ({
  date: `2026-10-${String(index + 1).padStart(2, "0")}`,
  cents: { vcpu: index },
}));

const writePdf = (
  terms: InvoiceTerms,
  changes: Partial<ReturnType<typeof anInvoice>> = {},
  ofLines = lines,
) => toInvoicePdf({ invoice: { ...anInvoice(13_000n, terms), ...changes }, lines: ofLines }, undefined, days);

const DOMESTIC = { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 2470n } as const;

/** Has whatever characters names may have, a chart, a month before and many pages. */
function writeOddPdf(): Promise<Buffer> {
  const names = [
    "שלום مرحبا 日本 👩‍💻",
    "a\u0000\u202E\uFFFE\uD800\tb",
    "n".repeat(300),
    "Ærø Łódź Αθήνα София",
  ];
  const odd = Array.from({ length: 300 }, (_, n) =>
    aLine({ clusterId: `${n}`, clusterName: names[n % names.length] ?? null, amountCents: 1n }),
  );
  const invoice = anInvoice(300n, { vatCase: "domestic" });
  const [name = "", street = ""] = names;
  const named = { ...invoice, buyer: { ...invoice.buyer, name, street, city: "x".repeat(200) } };
  const before = { invoice: { ...invoice, period: "2026-09-01" }, lines };
  return toInvoicePdf({ invoice: named, lines: odd }, before, days);
}

/** With other numbers of the supplier, the references of the buyer and the days of each line. */
function writeNumberedPdf(
  terms: InvoiceTerms,
  numbers: { vatId?: null; taxNumber: string },
): Promise<Buffer> {
  const numbered = { ...terms, reference: "Department 7", purchaseOrder: "PO-1" };
  const { supplier } = anInvoice(13_000n, numbered);
  const dated = lines.map((line) => ({ ...line, firstDay: "2026-10-03", lastDay: "2026-10-14" }));
  return writePdf(numbered, { supplier: { ...supplier, ...numbers } }, dated);
}

function writePaidPdf(bank: { iban: string; bic?: string }): Promise<Buffer> {
  const { supplier } = anInvoice(13_000n, DOMESTIC);
  return writePdf(DOMESTIC, { supplier: { ...supplier, bank } });
}

/** A PDF is valid by PDF/A-3 and by the electronic invoice inside. */
const VALID: readonly (readonly [what: string, write: () => string | Promise<Buffer>])[] = [
  ["in the supplier's country", () => writePdf(DOMESTIC)],
  [
    "for a consumer elsewhere in the EU",
    () => writePdf({ vatCase: "eu_consumer", vatBasisPoints: 2000, vatCents: 2600n, country: "FR" }),
  ],
  [
    "under reverse charge",
    () => writePdf({ vatCase: "reverse_charge", country: "FR", vatId: "FR40303265045" }),
  ],
  ["outside the EU", () => writePdf({ vatCase: "outside_eu", country: "US" })],
  ["at a rate of 0", () => writePdf({ vatCase: "domestic" })],
  ["for a buyer with a tax number that is no VAT id", () => writePdf({ ...DOMESTIC, vatId: "12/345/67890" })],
  [
    "for a buyer in Greece",
    () => writePdf({ vatCase: "reverse_charge", country: "GR", vatId: "EL123456789" }),
  ],
  [
    "for a buyer in Monaco",
    () => writePdf({ vatCase: "reverse_charge", country: "MC", vatId: "FR40303265045" }),
  ],
  ["with whatever characters names have, a chart, a month before and many pages", writeOddPdf],
  [
    "with another tax number and the references of its buyer",
    () =>
      writeNumberedPdf({ vatCase: "domestic", taxNumber: "12/345/67890" }, { vatId: null, taxNumber: "1/2" }),
  ],
  [
    "with both kinds of numbers and the references of its buyer",
    () =>
      writeNumberedPdf(
        { vatCase: "outside_eu", country: "US", taxNumber: "12-3456789" },
        { taxNumber: "1/2" },
      ),
  ],
  [
    "with an adjustment below 0, an amount of 0 and a name that XML cannot write",
    () =>
      toInvoiceXml(anInvoice(300n, { vatCase: "domestic" }), [
        aLine({ amountCents: 500n }),
        aLine({ amountCents: -200n, adjustment: true, period: "2026-09-01" }),
        aLine({ amountCents: 0n, clusterName: "\u0001\uFFFE\uD800" }),
        aLine({ amountCents: 0n, clusterId: null, clusterName: null, resourceType: "registry" }),
      ]),
  ],
  ["with the IBAN of its supplier", () => writePaidPdf({ iban: "DE89370400440532013000" })],
  [
    "with the IBAN and the BIC of its supplier",
    () => writePaidPdf({ iban: "DE89370400440532013000", bic: "COBADEFFXXX" }),
  ],
  [
    "of 2,000 lines",
    () =>
      toInvoiceXml(
        anInvoice(2000n, { vatCase: "domestic" }),
        Array.from({ length: 2000 }, () => aLine({ amountCents: 1n })),
      ),
  ],
];

const CREDIT_NOTES: readonly (readonly [what: string, note: () => WholeCreditNote])[] = [
  ["in the supplier's country", () => aCreditNote({ ...DOMESTIC, vatCents: 247n })],
  [
    "under reverse charge, with the references of its buyer",
    () =>
      aCreditNote({
        vatCase: "reverse_charge",
        country: "FR",
        vatId: "FR40303265045",
        reference: "Department 7",
        purchaseOrder: "PO-1",
      }),
  ],
  ["outside the EU", () => aCreditNote({ vatCase: "outside_eu", country: "US" })],
  [
    "at a rate of 0, for a long reason",
    () => aCreditNote({ vatCase: "domestic" }, { reason: "ab ".repeat(333) }),
  ],
  [
    "whose VAT makes that of all notes on its invoice exact",
    () => aCreditNote({ ...DOMESTIC, vatCents: 248n }),
  ],
  [
    "of 100 lines",
    () => {
      const line = { description: "word ".repeat(50), amountCents: 13n };
      return { ...aCreditNote({ vatCase: "domestic" }), lines: Array.from({ length: 100 }, () => line) };
    },
  ],
];

const folder = mkdtempSync(join(tmpdir(), "marina-invoices-"));
const written = new Map<string, string>();
let jar: string;
let verdicts: Record<string, string>;
let issued: string[];

/** One process of the validator judges all documents: it takes longer to start than to judge one. */
beforeAll(async () => {
  jar = await ensureMustang();
  const judged = join(folder, "judged");
  mkdirSync(judged);
  issued = await copyIssuedDocuments(judged);
  for (const [what, write] of VALID) written.set(`invoice ${what}`, writeDocument(judged, await write()));
  for (const [what, compose] of CREDIT_NOTES) {
    const note = compose();
    written.set(`note ${what}`, writeDocument(judged, Buffer.from(await toPdfOfCreditNote(note))));
    written.set(`XML of ${what}`, writeDocument(judged, toXmlOfCreditNote(note)));
  }
  verdicts = await judgeFolder(jar, judged);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns its path. */
function writeDocument(place: string, document: string | Buffer): string {
  const file = join(place, `${crypto.randomUUID()}.${typeof document === "string" ? "xml" : "pdf"}`);
  writeFileSync(file, document);
  return file;
}

/** Copies what the integration tests have issued: those of a run before this one, or else of one that is made here. */
async function copyIssuedDocuments(to: string): Promise<string[]> {
  const { MARINA_ISSUED_DOCUMENTS: kept = "" } = process.env;
  const from = existsSync(kept) && readdirSync(kept).length > 0 ? kept : await issueDocuments();
  cpSync(from, to, { recursive: true });
  return readdirSync(from);
}

async function issueDocuments(): Promise<string> {
  const place = join(folder, "issued");
  mkdirSync(place);
  const tests = ["apiserver/billing/invoices", "apiserver/billing/credit-notes"];
  const env = {
    ...process.env,
    MARINA_ISSUED_DOCUMENTS: place,
    MARINA_TEST_STACK: "test-invoices",
    MARINA_TEST_RESULT: undefined,
  };
  await promisify(execFile)("npx", ["vitest", "run", "--project", "integration", ...tests], { env });
  return place;
}

/** Judges a document alone that was not valid among all, for its reasons. */
async function expectValid(file: string): Promise<void> {
  if (verdicts[basename(file)] === "valid") return;
  expect(await findInvoiceFaults(jar, file)).toEqual([]);
}

test.each(VALID)("an invoice %s is valid", (what) => expectValid(written.get(`invoice ${what}`) ?? ""));

test.each(CREDIT_NOTES)("a credit note %s is valid, by itself and in its document", async (what) => {
  await expectValid(written.get(`note ${what}`) ?? "");
  await expectValid(written.get(`XML of ${what}`) ?? "");
});

test("every invoice and credit note that an integration test issues is valid", async () => {
  expect(issued.length).toBeGreaterThan(10);
  for (const file of issued) await expectValid(join(folder, "judged", file));
});

test.each(Object.entries(CODE_LISTS))(
  "the codes of %s are those of the official rules",
  async (_name, list) => {
    const rules = await readRules(jar);
    const start = rules.lastIndexOf("<svrl:failed-assert", rules.indexOf(`>${list.rule}<`));
    const codes = /contains\('([^']*)'/.exec(rules.slice(start))?.[1]?.trim().split(/\s+/) ?? [];
    expect([...list.codes].filter((code) => code !== "SS").toSorted()).toEqual(
      [...new Set(codes)].toSorted(),
    );
  },
);

test("the validator refuses a document that is no PDF/A, and one with a wrong invoice inside", async () => {
  const invoice = anInvoice(13_000n, { vatCase: "domestic" });
  const document = await toInvoicePdf({ invoice, lines }, undefined, days);
  const changed = Buffer.from(
    document.toString("latin1").replace("<pdfaid:part>3<", "<pdfaid:part>1<"),
    "latin1",
  );
  expect(await findInvoiceFaults(jar, writeDocument(folder, changed))).not.toEqual([]);
  const wrong = await toInvoicePdf({ invoice: { ...invoice, amountCents: 13_001n }, lines }, undefined, days);
  const faults = await findInvoiceFaults(jar, writeDocument(folder, wrong));
  expect(faults.join("\n")).toContain("BR-CO-10");
});
