import type { Until } from "./reported-wait.ts";
import { expectStatus, type Tenant } from "./tenant.ts";

/** Deletes an organization with all that it has: its clusters, also protected ones, whose end it waits for, and its webhooks. */
export async function deleteWholeOrganization(tenant: Tenant, orgID: string, until: Until): Promise<void> {
  const list = async () => expectStatus(200, await tenant.call("listClusters", { orgID })).items;
  for (const { id: clusterID, deletion_protection: isProtected, status } of await list()) {
    const place = { orgID, clusterID };
    if (status === "deleting") continue;
    if (isProtected)
      expectStatus(
        200,
        await tenant.call("updateCluster", { ...place, body: { deletion_protection: false } }),
      );
    expectStatus(202, await tenant.call("deleteCluster", place));
  }
  await until("its clusters to be deleted", list, (clusters) => clusters.length === 0);
  for (const { id: webhookID } of expectStatus(200, await tenant.call("listWebhooks", { orgID })).items)
    expectStatus(204, await tenant.call("deleteWebhook", { orgID, webhookID }));
  // The operator lets go of the object a moment after REST has no cluster any more.
  await until(
    "the organization to be deleted",
    () => tenant.call("deleteOrganization", { orgID }),
    ({ status }) => status === 204,
  );
}
