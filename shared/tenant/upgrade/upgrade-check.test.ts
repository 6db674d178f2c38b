import { expect, test } from "vitest";
import { toRestWords } from "../../crd/rest-words.ts";
import {
  describeBlockedUpgrade,
  describeCheck,
  describeWarnedUpgrade,
  type UpgradeCheck,
} from "./upgrade-check.ts";

const check = (name: string, severity: UpgradeCheck["severity"] = "blocking"): UpgradeCheck => ({
  check: "pods_not_evictable",
  severity,
  object: { kind: "PodDisruptionBudget", namespace: "shop", name },
  message: "It allows no eviction.",
  fix: "Run more replicas.",
});

test("a blocked upgrade names what blocks it, and the next step in the words of its reader", () => {
  const text = describeBlockedUpgrade("1.35.1", [check("web"), check("api", "warning"), check("db")]);
  expect(text).toBe(
    "The upgrade to Kubernetes 1.35.1 is blocked by 2 checks: PodDisruptionBudget shop/web (pods_not_evictable), PodDisruptionBudget shop/db (pods_not_evictable). Solve what blocks it; or, to upgrade all the same, set the annotation upgrade.cloud.marina.dev/force of the Cluster to the full version, as it stands here, a space and the reason.",
  );
  expect(toRestWords(text)).toMatch(/shop\/db .*\. Solve what blocks it; .* with force and a reason\.$/);
});

test("of a hundred objects with long names six are named, and the message keeps its end", () => {
  const text = describeBlockedUpgrade(
    "1.35.1",
    Array.from({ length: 100 }, () => check("x".repeat(253))),
  );
  expect(text).toContain(", and 94 more. Solve");
  expect(text.length).toBeLessThan(1024);
});

test.each(["a\nb", "a\u202eb", "a\u2028b", "a\u0000b"])(
  "in a name %j stands no character that is not seen",
  (name) => {
    const named = { ...check("web", "warning"), object: { kind: "Node", namespace: null, name } };
    expect(describeWarnedUpgrade("1.35.1", [named])).toContain(
      "1 warning: Node a\uFFFDb: It allows no eviction. Run more replicas.",
    );
    expect(describeCheck(named)).toBe("Node a\uFFFDb: It allows no eviction. Run more replicas.");
  },
);
