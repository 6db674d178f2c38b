import { randomUUID } from "node:crypto";
import type postgres from "postgres";

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
