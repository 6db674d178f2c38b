import type { WholeCreditNote } from "../../credit-notes/present.ts";
import { TEST_SUPPLIER } from "../../testing.ts";
import type { InvoiceLine } from "../compose.ts";
import type { Invoice } from "../store.ts";
import type { VatCase } from "../vat.ts";

export interface InvoiceTerms {
  vatCase: VatCase;
  vatBasisPoints?: number;
  vatCents?: bigint;
  /** The country of the buyer. */
  country?: string;
  vatId?: string;
  taxNumber?: string;
  reference?: string;
  purchaseOrder?: string;
}

/** An invoice of October 2026 over a net amount. */
export function anInvoice(
  amountCents: bigint,
  { vatCase, vatBasisPoints = 0, vatCents = 0n, country = "DE", vatId, ...buyer }: InvoiceTerms,
): Invoice {
  return {
    id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
    orgId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
    period: "2026-10-01",
    number: "M-2026-000001",
    year: 2026,
    sequence: 1,
    issuedAt: new Date("2026-11-01T06:00:00Z"),
    amountCents,
    vatCase,
    vatBasisPoints,
    vatCents,
    supplier: TEST_SUPPLIER,
    buyer: {
      name: "Beispiel & Söhne",
      street: "Rue 1",
      postalCode: "75001",
      city: "Paris",
      country,
      vatId: vatId ?? null,
      email: "billing@example.com",
      ...buyer,
    },
  };
}

/** A line of it. */
export function aLine(line: Partial<InvoiceLine> = {}): InvoiceLine {
  return {
    period: "2026-10-01",
    adjustment: false,
    clusterId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
    clusterName: "production",
    resourceType: "control_plane",
    unitPriceEUR: "100.000000",
    unitSeconds: 2_678_400n,
    amountCents: 100n,
    firstDay: null,
    lastDay: null,
    ...line,
  } as InvoiceLine;
}

/** A credit note on that invoice, of two lines. */
export function aCreditNote(
  terms: InvoiceTerms,
  changes: Partial<WholeCreditNote["note"]> = {},
): WholeCreditNote {
  const invoice = anInvoice(13_000n, terms);
  const note = {
    ...anInvoice(1300n, terms),
    invoiceId: invoice.id,
    number: "M-CN-2026-000001",
    issuedAt: new Date("2026-11-14T09:30:00Z"),
    reason: "The control plane could not be reached.",
    ...changes,
  };
  const lines = [
    { description: "vCPU of 14 October", amountCents: 1000n },
    { description: `${"Ærø & <Łódź> ".repeat(12)}${"w".repeat(98)}`, amountCents: 300n },
  ];
  return { note, lines, invoice };
}
