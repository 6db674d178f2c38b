import { describe, expect, test } from "vitest";
import { sumCents } from "../../rating/lines.ts";
import { runAtOnce } from "../../turns.ts";
import type { InvoiceLine } from "../compose.ts";
import { aLine, anInvoice } from "../testing/documents.ts";
import { composeContent } from "./content.ts";

const contentOf = (...given: Parameters<typeof composeContent>) => runAtOnce(composeContent(...given));

const domestic = { vatCase: "domestic", vatBasisPoints: 1900, vatCents: 19n } as const;
const issued = (lines: InvoiceLine[]) => ({ invoice: anInvoice(sumCents(lines), domestic), lines });

describe("what an invoice says", () => {
  test("who it is from and for, the amounts, and that they are payable", () => {
    const content = contentOf(issued([aLine()]), undefined, []);
    expect(content).toMatchObject({
      number: "M-2026-000001",
      period: "2026-10-01 to 2026-10-31",
      issuedOn: "2026-11-01",
      supplier: [
        "Marina Cloud GmbH",
        "Hafen 1",
        "20457 Hamburg",
        "Germany",
        "VAT id DE123456789",
        "invoices@marina.example",
      ],
      buyer: ["Beispiel & Söhne", "Rue 1", "75001 Paris", "Germany", "billing@example.com"],
      total: "1.19 EUR",
      sums: [
        { label: "Net", amount: "1.00 EUR" },
        { label: "VAT 19.00 %", amount: "0.19 EUR" },
      ],
      notes: ["Payable on receipt."],
    });
  });

  test("how to pay, where an account is configured", () => {
    const one = issued([aLine({ amountCents: 123_456_789n })]);
    const bank = { iban: "DE89370400440532013000", bic: "COBADEFFXXX" };
    const supplier = { ...one.invoice.supplier, bank };
    const content = contentOf({ ...one, invoice: { ...one.invoice, supplier } }, undefined, []);
    expect(content.notes).toEqual([
      "Payable on receipt.",
      "Please transfer it to IBAN DE89 3704 0044 0532 0130 00, BIC COBADEFFXXX, with the reference M-2026-000001.",
    ]);
  });

  test.each([
    [0n, "0.00 EUR"],
    [99_999n, "999.99 EUR"],
    [100_000n, "1,000.00 EUR"],
    [-123_456_789n, "-1,234,567.89 EUR"],
  ])("%d cents as %s, with a comma between thousands", (cents, text) => {
    const { clusters } = contentOf(issued([aLine({ amountCents: cents })]), undefined, []);
    expect(clusters.map(({ amount }) => amount)).toEqual([text]);
  });

  test.each([
    ["reverse_charge", "Reverse charge: the buyer accounts for the VAT."],
    ["outside_eu", "Not subject to VAT: supplied outside the European Union."],
  ] as const)("why there is no VAT: %s", (vatCase, reason) => {
    const invoice = anInvoice(100n, { vatCase });
    expect(contentOf({ invoice, lines: [aLine()] }, undefined, []).notes).toEqual([
      reason,
      "Payable on receipt.",
    ]);
  });

  test("nothing of an address that the profile does not have", () => {
    const one = issued([aLine()]);
    const buyer = { ...one.invoice.buyer, street: null, postalCode: null, city: "", email: null };
    const content = contentOf({ ...one, invoice: { ...one.invoice, buyer } }, undefined, []);
    expect(content.buyer).toEqual(["Beispiel & Söhne", "Germany"]);
  });
});

test("what the buyer wants to see, and a tax number that is no VAT id as what it is", () => {
  const one = issued([aLine()]);
  const numbers = { vatId: "US12-3456789", reference: "Department 7", purchaseOrder: "PO-1" };
  const content = contentOf(
    { ...one, invoice: { ...one.invoice, buyer: { ...one.invoice.buyer, ...numbers } } },
    undefined,
    [],
  );
  expect(content.references).toEqual(["Your reference Department 7", "Purchase order PO-1"]);
  expect(content.buyer).toContain("Tax number US12-3456789");
  expect(content.buyer.join()).not.toContain("VAT id");
});

test.each([
  ["2026-10-03", "2026-10-14", "Control plane, 2026-10-03 to 2026-10-14"],
  ["2026-10-03", "2026-10-03", "Control plane, 2026-10-03"],
  ["2026-10-01", "2026-10-31", "Control plane"],
  [null, null, "Control plane"],
])("a price that was charged from %s to %s is the row %s", (firstDay, lastDay, label) => {
  const { clusters } = contentOf(issued([aLine({ firstDay, lastDay })]), undefined, []);
  expect(clusters[0]?.rows.map((row) => row.label)).toEqual([label]);
});

describe("what changed", () => {
  test("the first invoice has its amounts by resource type alone", () => {
    const lines = [aLine({ amountCents: 300n }), aLine({ resourceType: "vcpu", amountCents: 50n })];
    expect(contentOf(issued(lines), undefined, []).comparison).toEqual({
      heading: "By resource type",
      columns: ["2026-10, EUR"],
      rows: [
        { label: "Control plane", amounts: ["3.00"] },
        { label: "vCPU", amounts: ["0.50"] },
        { label: "Net", amounts: ["3.50"] },
      ],
    });
  });

  test("a later one has both months and the change, also of what came and of what went, all packages as one", () => {
    const now = [
      aLine({ resourceType: "plan:dev", amountCents: 100n }),
      aLine({ resourceType: "plan:growth", amountCents: 100n }),
      aLine({ resourceType: "vcpu", amountCents: 50n }),
    ];
    const before = [
      aLine({ resourceType: "plan:dev", amountCents: 300n }),
      aLine({ resourceType: "loadbalancer", amountCents: 800n }),
    ];
    const previous = issued(before);
    const invoice = { ...previous.invoice, period: "2026-09-01", number: "M-2026-000000" };
    expect(contentOf(issued(now), { ...previous, invoice }, []).comparison).toEqual({
      heading: "Compared with M-2026-000000",
      columns: ["2026-09, EUR", "2026-10, EUR", "Change, EUR"],
      rows: [
        { label: "Packages", amounts: ["3.00", "2.00", "-1.00"] },
        { label: "vCPU", amounts: ["0.00", "0.50", "+0.50"] },
        { label: "Load balancer", amounts: ["8.00", "0.00", "-8.00"] },
        { label: "Net", amounts: ["11.00", "2.50", "-8.50"] },
      ],
    });
  });
});

test("the chart has a series for each resource type, with 0 on the days without it, and all packages as one", () => {
  const days = [
    { date: "2026-10-01", cents: { vcpu: 5, "plan:dev": 1 } },
    { date: "2026-10-02", cents: { "plan:dev": 1, "plan:growth": 2 } },
  ] as const;
  const { chart, days: dates } = contentOf(issued([aLine()]), undefined, days);
  expect(dates).toEqual(["2026-10-01", "2026-10-02"]);
  expect(chart).toEqual([
    { label: "Packages", place: 0, cents: [1, 3] },
    { label: "vCPU", place: 2, cents: [5, 0] },
  ]);
});

describe("the lines", () => {
  test("are those of each cluster, under the name that it had last, then what belongs to no cluster", () => {
    const lines = [
      aLine({ clusterId: "a", clusterName: "old", resourceType: "vcpu", amountCents: 50n }),
      aLine({ clusterId: "a", clusterName: "new", amountCents: 100n }),
      aLine({
        clusterId: null,
        clusterName: null,
        resourceType: "registry",
        unitSeconds: 7200n << 30n,
        unitPriceEUR: "0.050000",
        amountCents: 1n,
      }),
    ];
    const { clusters } = contentOf(issued(lines), undefined, []);
    expect(clusters.map(({ name, amount }) => [name, amount])).toEqual([
      ["new", "1.50 EUR"],
      ["Shared by all clusters", "0.01 EUR"],
    ]);
    expect(clusters[0]?.rows.map(({ label }) => label)).toEqual(["Control plane", "vCPU"]);
    expect(clusters[1]?.rows).toEqual([
      { label: "Registry (GiB)", unitPrice: "0.050000", quantity: "2.00", amount: "0.01" },
    ]);
  });

  test("that correct an earlier month say so, also when the cluster's name is no longer known", () => {
    const line = aLine({ adjustment: true, period: "2026-09-01", clusterName: null, amountCents: -5n });
    const { clusters } = contentOf(issued([line]), undefined, []);
    expect(clusters).toMatchObject([
      {
        name: line.clusterId,
        rows: [{ label: "Control plane, correction of 2026-09", amount: "-0.05" }],
      },
    ]);
  });
});
