import { expect, test } from "vitest";
import { readStack } from "../platform/stack/testing.ts";
import { createTenant } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const bob = createTenant(stack.apiUrl, stack.tokens.bob);
const staff = createTenant(stack.apiUrl, stack.tokens.staff);
const MISSING = "0197a000-0000-7000-8000-000000000000";

test("bob sees nothing of alice: every path responds as if it did not exist", async () => {
  const { body: organization } = await alice.request("POST", "/organizations", { name: "Alice alone" });
  const own = `/organizations/${organization.id}`;
  const { body: cluster } = await alice.request("POST", `${own}/clusters`, {
    name: "private",
    k8s_version: "1.34",
  });

  const attempts: [method: string, suffix: string, body?: unknown][] = [
    ["GET", ""],
    ["GET", "/clusters"],
    ["POST", "/clusters", { name: "mine", k8s_version: "1.34" }],
    ["POST", "/clusters", { nonsense: true }],
    ["GET", `/clusters/${cluster.id}`],
    ["DELETE", `/clusters/${cluster.id}`],
    ["GET", `/clusters/${cluster.id}/nodepools`],
    ["POST", `/clusters/${cluster.id}/nodepools`, {}],
    ["GET", `/clusters/${cluster.id}/nodepools/${MISSING}`],
    ["PUT", `/clusters/${cluster.id}/nodepools/${MISSING}`, {}],
    ["DELETE", `/clusters/${cluster.id}/nodepools/${MISSING}`],
    ["GET", `/clusters/${cluster.id}/kubeconfig`],
    ["GET", `/clusters/${cluster.id}/system-events`],
  ];
  for (const outsider of [bob, staff]) {
    for (const [method, suffix, body] of attempts) {
      const foreign = await outsider.request(method, `${own}${suffix}`, body);
      const missing = await outsider.request(method, `/organizations/${MISSING}${suffix}`, body);
      expect(foreign.status, `${method} ${suffix}`).toBe(404);
      expect(withoutRequestId(foreign.body)).toEqual(withoutRequestId(missing.body));
    }
  }
  const { body: seenByBob } = await bob.request("GET", "/organizations");
  expect(seenByBob.items.map(({ id }: { id: string }) => id)).not.toContain(organization.id);
  expect((await alice.request("GET", `${own}/clusters/${cluster.id}`)).status).toBe(200);
  await alice.request("DELETE", `${own}/clusters/${cluster.id}`);
});

function withoutRequestId({ error }: { error: Record<string, unknown> }) {
  const { request_id: _, ...rest } = error;
  return rest;
}
