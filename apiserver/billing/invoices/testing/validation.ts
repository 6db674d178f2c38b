import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ensureMustang,
  findInvoiceFaults,
  judgeFolder,
  readRules,
} from "../../../../e2e/contract/invoices/mustang.ts";
import { CODE_LISTS } from "../code-lists.ts";
import { toInvoicePdf } from "../pdf/write.ts";
import { toInvoiceXml } from "../xml.ts";
import { aLine, anInvoice } from "./documents.ts";

let folder: string;
let jar: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "marina-invoices-"));
  jar = await ensureMustang();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function validate(document: string | Buffer): Promise<string[]> {
  const suffix = typeof document === "string" ? "xml" : "pdf";
  const file = join(folder, `${crypto.randomUUID()}.${suffix}`);
  writeFileSync(file, document);
  return findInvoiceFaults(jar, file);
}

const lines = [
  aLine({ amountCents: 10_000n }),
  aLine({ amountCents: 3_000n, clusterName: 'Produktion & <Prüfung> "1"', resourceType: "vcpu" }),
];

/** What the days of October 2026 cost: one more cent each day, the first one nothing. */
const days = Array.from({ length: 31 }, (_, index) => ({
  date: `2026-10-${String(index + 1).padStart(2, "0")}`,
  cents: { vcpu: index },
}));

test.each([
  ["in the supplier's country", { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 2470n }],
  [
    "for a consumer elsewhere in the EU",
    { vatCase: "eu_consumer", vatBasisPoints: 2000, vatCents: 2600n, country: "FR" },
  ],
  ["under reverse charge", { vatCase: "reverse_charge", country: "FR", vatId: "FR40303265045" }],
  ["outside the EU", { vatCase: "outside_eu", country: "US" }],
  ["at a rate of 0", { vatCase: "domestic" }],
  [
    "for a buyer with a tax number that is no VAT id",
    { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 2470n, vatId: "12/345/67890" },
  ],
  ["for a buyer in Greece", { vatCase: "reverse_charge", country: "GR", vatId: "EL123456789" }],
  ["for a buyer in Monaco", { vatCase: "reverse_charge", country: "MC", vatId: "FR40303265045" }],
] as const)(
  "an invoice %s is valid, by PDF/A-3 and by the electronic invoice inside",
  async (_what, terms) => {
    const invoice = anInvoice(13_000n, terms);
    expect(await validate(await toInvoicePdf({ invoice, lines }, undefined, days))).toEqual([]);
  },
);

test("a document is valid whatever characters names have, with a chart, a month before and many pages", async () => {
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
  expect(await validate(await toInvoicePdf({ invoice: named, lines: odd }, before, days))).toEqual([]);
});

test.each([
  [
    "another tax number",
    { vatCase: "domestic", taxNumber: "12/345/67890" },
    { vatId: null, taxNumber: "1/2" },
  ],
  [
    "both kinds of numbers",
    { vatCase: "outside_eu", country: "US", taxNumber: "12-3456789" },
    { taxNumber: "1/2" },
  ],
] as const)("an invoice with %s and the references of its buyer is valid", async (_what, terms, numbers) => {
  const invoice = anInvoice(13_000n, { ...terms, reference: "Department 7", purchaseOrder: "PO-1" });
  const supplier = { ...invoice.supplier, ...numbers };
  const dated = lines.map((line) => ({ ...line, firstDay: "2026-10-03", lastDay: "2026-10-14" }));
  expect(
    await validate(await toInvoicePdf({ invoice: { ...invoice, supplier }, lines: dated }, undefined, days)),
  ).toEqual([]);
});

test("every invoice that an integration test issues is valid", async () => {
  const issued = join(folder, "issued");
  mkdirSync(issued);
  const tests = ["apiserver/billing/invoices", "apiserver/billing/credit-notes"];
  // Beside `npm test`, which has the stack of that name.
  const env = {
    ...process.env,
    MARINA_ISSUED_DOCUMENTS: issued,
    MARINA_TEST_STACK: "test-invoices",
    MARINA_TEST_RESULT: undefined,
  };
  await promisify(execFile)("npx", ["vitest", "run", "--project", "integration", ...tests], { env });
  const files = readdirSync(issued);
  expect(files.length).toBeGreaterThan(10);
  const expected = Object.fromEntries(files.map((file) => [file, "valid"]));
  expect(await judgeFolder(jar, issued)).toEqual(expected);
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
  expect(await validate(changed)).not.toEqual([]);
  const wrong = await toInvoicePdf({ invoice: { ...invoice, amountCents: 13_001n }, lines }, undefined, days);
  expect((await validate(wrong)).join("\n")).toContain("BR-CO-10");
});

test("an invoice with an adjustment below 0, an amount of 0 and a name that XML cannot write is valid", async () => {
  const odd = [
    aLine({ amountCents: 500n }),
    aLine({ amountCents: -200n, adjustment: true, period: "2026-09-01" }),
    aLine({ amountCents: 0n, clusterName: "\u0001\uFFFE\uD800" }),
    aLine({ amountCents: 0n, clusterId: null, clusterName: null, resourceType: "registry" }),
  ];
  expect(await validate(toInvoiceXml(anInvoice(300n, { vatCase: "domestic" }), odd))).toEqual([]);
});

test.each([{ iban: "DE89370400440532013000" }, { iban: "DE89370400440532013000", bic: "COBADEFFXXX" }])(
  "an invoice with the account %j is valid",
  async (bank) => {
    const invoice = anInvoice(13_000n, { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 2470n });
    const paid = { ...invoice, supplier: { ...invoice.supplier, bank } };
    expect(await validate(await toInvoicePdf({ invoice: paid, lines }, undefined, days))).toEqual([]);
  },
);

test("an invoice of 2,000 lines is valid", async () => {
  const many = Array.from({ length: 2000 }, () => aLine({ amountCents: 1n }));
  expect(await validate(toInvoiceXml(anInvoice(2000n, { vatCase: "domestic" }), many))).toEqual([]);
});
