import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { sendTogether } from "../db/send-together.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { auditOrganization } from "./present.ts";
import { toDistinctSlug, toSlug } from "./slug.ts";
import {
  insertOrganization,
  type NewOrganization,
  type OrganizationChange,
  slugTaken,
  updateSettings,
} from "./store.ts";
import type { OrganizationRow } from "./table.ts";

/**
 * Creates an organization. Without a slug, one is derived from the name that no other organization has. Throws 409
 * already_exists for a taken slug.
 */
export async function createOrganization(
  tx: Queryable,
  origin: Origin,
  input: Omit<NewOrganization, "slug" | "createdBy"> & { slug: string | undefined },
): Promise<OrganizationRow> {
  const { id, name } = input;
  const slugs = input.slug === undefined ? [toSlug(name, id), toDistinctSlug(name, id)] : [input.slug];
  for (const slug of slugs) {
    const organization = await insertOrganization(tx, { ...input, slug, createdBy: origin.principal.userId });
    if (organization === undefined) continue;
    await recordAudit(tx, origin, {
      action: "organization.create",
      orgId: id,
      target: { kind: "organization", id },
      after: auditOrganization(organization),
      result: "done",
    });
    return organization;
  }
  throw slugTaken(slugs.at(-1) ?? "");
}

const SETTINGS = ["name", "slug", "billingEmail", "vatId"] as const;

/** The settings that a change would really change: sending back what was read changes none. */
export function findChangedSettings(before: OrganizationRow, change: OrganizationChange) {
  return SETTINGS.filter((name) => change[name] !== undefined && change[name] !== before[name]);
}

function applyChange(before: OrganizationRow, change: OrganizationChange): OrganizationRow {
  const { name = before.name, slug = before.slug } = change;
  const { billingEmail = before.billingEmail, vatId = before.vatId } = change;
  return { ...before, name, slug, billingEmail, vatId };
}

/** Changes settings of a locked organization. Throws 409 already_exists for a taken slug. */
export async function updateOrganization(
  tx: Queryable,
  origin: Origin,
  before: OrganizationRow,
  change: OrganizationChange,
): Promise<OrganizationRow> {
  const wanted = applyChange(before, change);
  const [after] = await sendTogether(
    updateSettings(tx, before.id, wanted),
    recordAudit(tx, origin, {
      action: "organization.update",
      orgId: before.id,
      target: { kind: "organization", id: before.id },
      before: auditOrganization(before),
      after: auditOrganization(wanted),
      result: "done",
    }),
  );
  return after;
}
