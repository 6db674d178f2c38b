import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ensureMustang, findInvoiceFaults } from "../../../../e2e/invoices/mustang.ts";
import { toInvoiceXml } from "../xml.ts";
import { aLine, anInvoice } from "./documents.ts";

let folder: string;
let jar: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "marina-invoices-"));
  jar = await ensureMustang();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function validate(xml: string): Promise<string[]> {
  const file = join(folder, `${crypto.randomUUID()}.xml`);
  writeFileSync(file, xml);
  return findInvoiceFaults(jar, file);
}

const lines = [
  aLine({ amountCents: 10_000n }),
  aLine({ amountCents: 3_000n, clusterName: 'Produktion & <Prüfung> "1"', resourceType: "vcpu" }),
];

test.each([
  ["in the supplier's country", { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 2470n }],
  [
    "for a consumer elsewhere in the EU",
    { vatCase: "eu_consumer", vatBasisPoints: 2000, vatCents: 2600n, country: "FR" },
  ],
  ["under reverse charge", { vatCase: "reverse_charge", country: "FR", vatId: "FR40303265045" }],
  ["outside the EU", { vatCase: "outside_eu", country: "US" }],
  ["at a rate of 0", { vatCase: "domestic" }],
] as const)("an invoice %s is valid", async (_what, terms) => {
  expect(await validate(toInvoiceXml(anInvoice(13_000n, terms), lines))).toEqual([]);
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

test("an invoice of 2,000 lines is valid", async () => {
  const many = Array.from({ length: 2000 }, () => aLine({ amountCents: 1n }));
  expect(await validate(toInvoiceXml(anInvoice(2000n, { vatCase: "domestic" }), many))).toEqual([]);
});

test("the validator refuses a total that is not the sum of the lines", async () => {
  const faults = await validate(toInvoiceXml(anInvoice(13_001n, { vatCase: "domestic" }), lines));
  expect(faults.join("\n")).toContain("BR-CO-10");
});
