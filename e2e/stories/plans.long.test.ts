import { expect, test } from "vitest";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const staff = createTenant(stack.apiUrl, stack.tokens.staff);
/** No other story creates clusters with it. */
const slug = "growth";

async function setRetired(retired: boolean): Promise<void> {
  const { current } = expectStatus(200, await staff.call("getPlanHistory", { slug }));
  const { monthly_price_eur, control_plane_replicas, includes } = current;
  const body = { monthly_price_eur, control_plane_replicas, includes, retired };
  expectStatus(200, await staff.call("updatePlan", { slug, body }));
}

async function apply(engineer: Engineer, name: string, spec: object): Promise<void> {
  const metadata = { name, namespace: engineer.namespace };
  const object = { apiVersion: "cloud.marina.dev/v1", kind: "Cluster", metadata, spec };
  await kubectl(["apply", "--server-side", "-f", "-"], { stdin: JSON.stringify(object) });
}

test("a retired plan is refused by REST and by kubectl, existing clusters keep it, and it can be offered again", async () => {
  const { id: orgID } = expectStatus(
    201,
    await alice.call("createOrganization", { body: { name: "Plans" } }),
  );
  const engineer = await createEngineer(stack, orgID);
  const createByRest = (name: string) =>
    alice.call("createCluster", { orgID, body: { name, k8s_version: "1.34", plan: slug } });
  const untilReason = (name: string, reason: string) =>
    waitFor(`${name} to have the reason ${reason}`, async () => {
      const { status } = await engineer.getCluster(name);
      const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
      return stalled?.reason === reason ? status?.message : undefined;
    });
  const kept = expectStatus(202, await createByRest("kept"));
  await setRetired(true);
  let attempts = 0;
  let late = "";
  try {
    expect((await createByRest("refused")).status).toBe(422);
    // The operator follows the plans by a watch: what is created a moment after the change may still be accepted.
    late = await waitFor("a cluster of kubectl to be refused", async () => {
      const name = `late-${++attempts}`;
      await apply(engineer, name, { version: "1.34", plan: slug });
      return waitFor(`the operator to refuse or to accept ${name}`, async () => {
        const { status } = await engineer.getCluster(name);
        if (status?.phase === "Provisioning" || status?.phase === "Ready") return { name: undefined };
        return status?.message?.includes("The plan growth is retired") ? { name } : undefined;
      }).then((looked) => looked.name);
    });
    await untilReason(late, "PlanRetired");
    const cluster = expectStatus(200, await alice.call("getCluster", { orgID, clusterID: kept.id }));
    expect(cluster.plan).toBe(slug);
    expect(cluster.status).not.toBe("failed");
  } finally {
    await setRetired(false);
  }
  await waitFor("the cluster of kubectl to be created after all", async () => {
    const { status } = await engineer.getCluster(late);
    return status?.phase === "Provisioning" || status?.phase === "Ready";
  });
  await apply(engineer, "other-size", { version: "1.34", plan: slug, controlPlaneReplicas: 1 });
  await untilReason("other-size", "ReplicasNotInPlan");
  await engineer.close();
});
