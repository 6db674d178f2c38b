import { z } from "@hono/zod-openapi";
import { auditActorRecord } from "../../audit/schema.ts";
import { idField, timestampField } from "../../http/contract/fields.ts";
import { pageSchema } from "../../http/contract/page.ts";
import { KEPT_DECIMALS, MAX_EUROS } from "../fields-schema.ts";
import { RESOURCE_TYPES } from "../resource-types.ts";

const MAX_ENTRIES = 100;

const priceField = (description: string, example: number) =>
  z.number().min(0).max(MAX_EUROS).openapi({ format: "double", description, example });

const EXAMPLE_PRICES = {
  control_plane: 20,
  vcpu: 5,
  memory: 2.5,
  disk: 0.08,
  storage_block: 0.08,
  storage_rwx: 0.12,
  loadbalancer: 8,
  registry: 0.05,
  snapshot: 0.04,
  public_ip: 4,
};

const UNIT_PRICE = "In EUR for one unit and a month, net; memory, disk and storage are priced by the GiB.";

const resourceTypeField = z.enum(RESOURCE_TYPES).openapi({ description: "What is priced." });

const ratesRecord = z
  .object({
    control_plane: priceField("One control plane.", EXAMPLE_PRICES.control_plane),
    vcpu: priceField("One vCPU of a node.", EXAMPLE_PRICES.vcpu),
    memory: priceField("1 GiB of memory of a node.", EXAMPLE_PRICES.memory),
    disk: priceField("1 GiB of disk of a node.", EXAMPLE_PRICES.disk),
    storage_block: priceField("1 GiB of block storage.", EXAMPLE_PRICES.storage_block),
    storage_rwx: priceField("1 GiB in the shared storage.", EXAMPLE_PRICES.storage_rwx),
    loadbalancer: priceField("One load balancer.", EXAMPLE_PRICES.loadbalancer),
    registry: priceField("1 GiB in the container registry.", EXAMPLE_PRICES.registry),
    snapshot: priceField("1 GiB of snapshots.", EXAMPLE_PRICES.snapshot),
    public_ip: priceField("One public address, always for a whole month.", EXAMPLE_PRICES.public_ip),
  })
  .openapi("Rates", {
    description: "The prices in force, in EUR for a month, net.",
    example: EXAMPLE_PRICES,
  });

const EXAMPLE = { rates: EXAMPLE_PRICES };

export const rateCardRecord = z.object({ rates: ratesRecord }).openapi("RateCard", { example: EXAMPLE });

const EXAMPLE_CHANGE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  resource_type: "vcpu",
  unit_price_eur: 5,
  effective_from: "2026-11-21T09:00:00.000Z",
  effective_to: null,
  changed_by: {
    kind: "staff",
    id: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
    email: "alice@example.com",
    name: null,
  },
};

export const rateChangeRecord = z
  .object({
    id: idField("The price."),
    resource_type: resourceTypeField,
    unit_price_eur: priceField(UNIT_PRICE, 5),
    effective_from: timestampField("The first instant at which it holds."),
    effective_to: timestampField("The first instant at which it does not hold; null: it holds.").nullable(),
    changed_by: auditActorRecord.openapi({ description: "Who set it." }),
  })
  .openapi("RateChange", { example: EXAMPLE_CHANGE });

const { items, next_cursor: nextCursor } = pageSchema(rateChangeRecord, "RateChangePage").shape;

export const rateHistoryRecord = z
  .object({ rates: ratesRecord, items, next_cursor: nextCursor })
  .openapi("RateHistory", { example: { ...EXAMPLE, items: [EXAMPLE_CHANGE], next_cursor: null } });

const newRate = z
  .strictObject({
    resource_type: resourceTypeField,
    unit_price_eur: priceField(`${UNIT_PRICE} ${KEPT_DECIMALS}`, 5),
  })
  .openapi("NewRate", { example: { resource_type: "vcpu", unit_price_eur: 5 } });

export const setRateCardBody = z
  .strictObject({
    rates: z
      .array(newRate)
      .min(1)
      .max(MAX_ENTRIES)
      .superRefine((rates, context) => {
        const seen = new Set<string>();
        for (const [index, { resource_type: type }] of rates.entries()) {
          if (seen.has(type)) {
            const path = [index, "resource_type"];
            const params = { code: "duplicate" };
            context.addIssue({ code: "custom", path, message: "must be given once", params });
          }
          seen.add(type);
        }
      })
      .openapi({
        description: "The new prices, each resource type at most once; those left out are unchanged.",
      }),
  })
  .openapi("SetRateCard", { example: { rates: [{ resource_type: "vcpu", unit_price_eur: 5 }] } });
