import { expect, test } from "vitest";
import { findTenantTextFault } from "../../e2e/contract/seen/message-forms.ts";
import type { AddOnState } from "../add-ons/observe.ts";
import type { ObservedCluster } from "./observe.ts";
import { reconcileCluster } from "./reconcile.ts";
import { decideAddOns } from "./tenant-conditions.ts";
import { aCluster, NOW, observeBlue } from "./testing.ts";

test.each<[AddOnState["state"], string, string]>([
  ["missing", "False", "AddOnNotFound"],
  ["without-manifests", "False", "AddOnNotFound"],
  ["foreign", "False", "AddOnNotFound"],
  ["failed", "False", "AddOnsFailed"],
  ["waiting", "Unknown", "WaitingForAddOns"],
  ["unknown", "Unknown", "WaitingForAddOns"],
  ["applied", "True", "Applied"],
])("with an add-on that is %s the condition is %s, %s", (state, status, reason) => {
  const one = { name: "cni", state, manifests: ["ConfigMap cni"] };
  const done = { name: "ccm", state: "applied", manifests: [] } as const;
  const condition = decideAddOns(observeBlue({ addOns: [done, one] }));
  expect(condition).toMatchObject({ type: "AddOnsApplied", status, reason });
  expect(findTenantTextFault(condition?.message ?? "")).toBeUndefined();
});

test("a problem stays in the condition after a restart of the operator, until it has looked; that add-ons are applied does not", () => {
  const one = { name: "cni", state: "unknown", manifests: [] } as const;
  const reasonAfter = (status: "True" | "False", reason: string) => {
    const at = { message: "said", lastTransitionTime: "2026-05-01T12:00:00Z", observedGeneration: 1 };
    const conditions = [{ type: "AddOnsApplied" as const, status, reason, ...at }];
    const cluster = aCluster({}, { status: { conditions } as never });
    return decideAddOns(observeBlue({ addOns: [one], cluster }))?.reason;
  };
  expect(reasonAfter("False", "AddOnNotFound")).toBe("AddOnNotFound");
  expect(reasonAfter("True", "Applied")).toBe("WaitingForAddOns");
});

test("only a cluster with add-ons has the condition", () => {
  const types = (observed: ObservedCluster) =>
    reconcileCluster(observed, NOW).status?.conditions?.map(({ type }) => type) ?? [];
  const one = { name: "cni", state: "failed", manifests: [] } as const;
  expect(types(observeBlue({ addOns: [one] }))).toContain("AddOnsApplied");
  expect(types(observeBlue({ cluster: aCluster({}, { status: {} as never }) }))).not.toContain(
    "AddOnsApplied",
  );
});
