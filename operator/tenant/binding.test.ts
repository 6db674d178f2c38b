import { expect, test } from "vitest";
import { composeAccessBinding, composeAdminBinding, planBindings } from "./binding.ts";

const admin = composeAdminBinding("id", 1, "ca");
const old = composeAdminBinding("id", 0, "ca");
const granted = composeAccessBinding("granted", "ca");
const orphan = composeAccessBinding("orphan", "ca");
const theirs = { ...orphan, metadata: { name: "tenant-admins" } };
const widened = { ...granted, subjects: [{ kind: "Group", name: "system:authenticated" }] };

function plan(existing: (typeof admin)[], desired: (typeof admin)[], kept: string[] = []) {
  const { replace, remove } = planBindings(existing, { desired, isKept: (name) => kept.includes(name) });
  return { create: replace.map(({ binding }) => binding.metadata.name), remove };
}

test.each([
  ["nothing when all is as desired", plan([admin, granted], [admin, granted]), { create: [], remove: [] }],
  ["what is missing", plan([admin], [admin, granted]), { create: [granted.metadata.name], remove: [] }],
  [
    "a binding that was widened",
    plan([admin, widened], [admin, granted]),
    { create: [granted.metadata.name], remove: [] },
  ],
  [
    "an access without an object",
    plan([admin, orphan], [admin]),
    { create: [], remove: [orphan.metadata.name] },
  ],
  [
    "the binding of the previous generation",
    plan([old, admin], [admin]),
    { create: [], remove: [old.metadata.name] },
  ],
  [
    "nothing of an access that is being issued",
    plan([admin, orphan], [admin], [orphan.metadata.name]),
    { create: [], remove: [] },
  ],
  ["nothing of the tenant's own", plan([admin, theirs], [admin]), { create: [], remove: [] }],
])("the bindings of a tenant: it creates or removes %s", (_name, planned, expected) => {
  expect(planned).toEqual(expected);
});

test("each access and each generation has a group of its own", () => {
  const groups = [admin, old, granted, orphan].map(({ subjects }) => subjects?.[0]?.name);
  expect(groups).toEqual([
    "cloud.marina.dev:admin:id:1",
    "cloud.marina.dev:admin:id:0",
    "cloud.marina.dev:access:granted",
    "cloud.marina.dev:access:orphan",
  ]);
});

test("only where the CA's key is not known an account has the right too, one of its own", () => {
  expect(composeAccessBinding("one", "kubeconfig").subjects).toEqual([
    { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "cloud.marina.dev:access:one" },
    { kind: "ServiceAccount", name: "cloud-marina-dev-access-one", namespace: "kube-system" },
  ]);
  expect(composeAccessBinding("one", "ca").subjects).toHaveLength(1);
  expect(composeAdminBinding("id", 2, "kubeconfig").subjects?.[1]).toMatchObject({
    name: "cloud-marina-dev-admin-2",
  });
});
