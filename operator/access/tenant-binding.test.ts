import { expect, test } from "vitest";
import { composeAccessBinding, composeAdminBinding, planBindings } from "./tenant-binding.ts";

const admin = composeAdminBinding("id", 1);
const old = composeAdminBinding("id", 0);
const granted = composeAccessBinding("granted");
const orphan = composeAccessBinding("orphan");
const theirs = { ...orphan, metadata: { name: "tenant-admins" } };
const widened = { ...granted, subjects: [{ kind: "Group", name: "system:authenticated" }] };

function plan(standing: (typeof admin)[], wanted: (typeof admin)[], spared: string[] = []) {
  const { replace, drop } = planBindings(standing, { wanted, spared: new Set(spared) });
  return { make: replace.map(({ wanted: binding }) => binding.metadata.name), drop };
}

test.each([
  ["nothing of what is as wanted", plan([admin, granted], [admin, granted]), { make: [], drop: [] }],
  ["what is missing", plan([admin], [admin, granted]), { make: [granted.metadata.name], drop: [] }],
  [
    "what somebody widened",
    plan([admin, widened], [admin, granted]),
    { make: [granted.metadata.name], drop: [] },
  ],
  [
    "away a grant without an object",
    plan([admin, orphan], [admin]),
    { make: [], drop: [orphan.metadata.name] },
  ],
  ["away the last generation", plan([old, admin], [admin]), { make: [], drop: [old.metadata.name] }],
  [
    "nothing of a grant that is being made",
    plan([admin, orphan], [admin], [orphan.metadata.name]),
    { make: [], drop: [] },
  ],
  ["nothing of the tenant's own", plan([admin, theirs], [admin]), { make: [], drop: [] }],
])("the bindings of a tenant: it makes or takes %s", (_name, planned, expected) => {
  expect(planned).toEqual(expected);
});

test("each grant and each generation has a group of its own", () => {
  const groups = [admin, old, granted, orphan].map(({ subjects }) => subjects?.[0]?.name);
  expect(groups).toEqual([
    "cloud.marina.dev:admin:id:1",
    "cloud.marina.dev:admin:id:0",
    "cloud.marina.dev:access:granted",
    "cloud.marina.dev:access:orphan",
  ]);
});
