import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type postgres from "postgres";
import { expectStatus, type Tenant } from "../testing/tenant.ts";

const MS_PER_DAY = 24 * 3_600_000;

/** 10,000 vCPU of an organization on the day that begins at `from`, as the ledger holds it. */
export async function insertUsage(sql: postgres.Sql, orgID: string, from: Date): Promise<void> {
  const [evidence, subject] = [randomUUID(), randomUUID()];
  const sample = { at: "", quantities: {}, clusterId: null, clusterName: null, nodePoolId: null };
  await sql`insert into usage_evidence (id, organization_id, kind, subject, object_uid, sample, observed_at)
    values (${evidence}, ${orgID}, 'machine', ${subject}, ${subject}, ${sql.json(sample)}, ${from})`;
  await sql`insert into usage_intervals
      (id, organization_id, subject, resource_type, quantity, started_at, ended_at, evidence_id)
    values (${randomUUID()}, ${orgID}, ${subject}, 'vcpu', 10000, ${from},
      ${new Date(from.getTime() + MS_PER_DAY)}, ${evidence})`;
}

/** Reads all invoices, of one tenant, as XML, and keeps it in MARINA_ISSUED_DOCUMENTS, a folder, for `npm run test:invoices`. */
export async function readElectronicInvoices(sql: postgres.Sql, tenant: Tenant): Promise<void> {
  const folder = process.env.MARINA_ISSUED_DOCUMENTS;
  for (const { org_id, id } of await sql<{ org_id: string; id: string }[]>`select org_id, id from invoices`) {
    const path = `/organizations/${org_id}/billing/invoices/${id}`;
    const xml = await tenant.request<string>("GET", path, undefined, { accept: "application/xml" });
    const document = expectStatus(200, xml);
    if (folder !== undefined) writeFileSync(join(folder, `${id}.xml`), document);
  }
}
