import { afterAll, expect } from "vitest";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { AUDIT_WEBHOOK } from "../platform/stack/management-cluster.ts";
import type { Stack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { createEngineer, type Engineer } from "../testing/custom-resources.ts";
import { type SecondApiserver, startSecondApiserver } from "../testing/second-apiserver.ts";
import { createTenant, type Tenant } from "../testing/tenant.ts";
import { openWebhookEndpoint } from "../testing/webhook-endpoint.ts";
import { DIR, test } from "./shared-stack.ts";

let stack: Stack;
let second: SecondApiserver;
let engineer: Engineer;
let alice: Tenant;
let staff: Tenant;
let orgId: string;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
  const { apiUrl, tokens } = stack.info;
  [alice, staff] = [createTenant(apiUrl, tokens.alice), createTenant(apiUrl, tokens.staff)];
  orgId = (await alice.request("POST", "/organizations", { name: "audit events" })).body.id;
  engineer = await createEngineer(stack.info, orgId);
  second = await startSecondApiserver(DIR);
});
afterAll(async () => {
  await second?.stop();
  await engineer?.close();
});

/** A cluster by REST: its id, and its path in the Kubernetes API. */
async function makeCluster(name: string): Promise<{ id: string; path: string }> {
  const body = { name, k8s_version: "1.34" };
  const { id } = (await alice.request("POST", `/organizations/${orgId}/clusters`, body)).body;
  const { namespace } = engineer;
  const place = { namespace, labelSelector: `${LABEL_ID}=${id}` };
  const [cluster] = await engineer.client.listAll(clusterKind, place);
  return {
    id,
    path: `/apis/cloud.marina.dev/v1/namespaces/${namespace}/clusters/${cluster?.metadata.name}`,
  };
}

function deleteAs(user: string, path: string): Promise<unknown> {
  const as = [`--as=${user}`, "--as-group=system:masters"];
  return kubectl(["delete", "--raw", path, ...as], { stack: stack.info });
}

/**
 * Hands every event that the Kubernetes API has sent so far to the replicas in turns, as a load balancer with TLS does.
 */
async function relay(): Promise<void> {
  const deliveries = await openWebhookEndpoint(stack.info, AUDIT_WEBHOOK.path).list();
  for (const [n, { body, headers }] of deliveries.entries()) {
    const replica = n % 2 === 0 ? stack.info.apiUrl : second.url;
    const { status } = await fetch(`${replica}${AUDIT_WEBHOOK.path}`, {
      method: "POST",
      body,
      headers: { authorization: headers.authorization ?? "", "content-type": "application/json" },
    });
    expect(status).toBe(204);
  }
}

async function readDeleters(id: string): Promise<unknown[]> {
  const { body } = await staff.request("GET", `/admin/audit-log?target=${id}&action=cluster.delete`);
  return body.items.map(({ actor }: { actor: { kind: string; name: string | null } }) => actor);
}

test("the Kubernetes API names to two replicas, again and again, who deleted one cluster and who all others", async () => {
  const [one, other] = [await makeCluster("one"), await makeCluster("other")];
  await deleteAs("erin@platform.example", one.path);
  await waitFor("its end", async () => {
    const path = `/organizations/${orgId}/clusters/${one.id}`;
    return (await alice.request("GET", path)).status === 404;
  });
  await deleteAs("frank@platform.example", other.path.replace(/\/[^/]+$/, ""));
  const actors = await waitFor("both entries", async () => {
    await relay();
    const found = [await readDeleters(one.id), await readDeleters(other.id)];
    return found.every(({ length }) => length > 0) ? found : undefined;
  });
  const actor = { kind: "kubernetes_user", id: null, email: null };
  const expected = ["erin", "frank"].map((name) => [{ ...actor, name: `${name}@platform.example` }]);
  expect(actors).toEqual(expected);
  await relay();
  expect([await readDeleters(one.id), await readDeleters(other.id)]).toEqual(expected);
  const { body } = await alice.request("GET", `/organizations/${orgId}/audit-log?action=cluster.delete`);
  expect(body.items.map((entry: { actor: object }) => entry.actor)).toEqual(
    expected.map(() => ({ ...actor, name: null })),
  );
});
