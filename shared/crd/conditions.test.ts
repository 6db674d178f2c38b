import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clusterConditionTypes, clusterStatusSchema } from "./cluster.ts";
import { MAX_STATUS_MESSAGE_LENGTH, truncateConditionMessage, truncateStatusMessage } from "./conditions.ts";
import { nodePoolConditionTypes } from "./node-pool.ts";

describe("a message", () => {
  test("that fits is left as it is", () => {
    const longest = "🚢".repeat(MAX_STATUS_MESSAGE_LENGTH);
    expect(truncateStatusMessage(longest)).toBe(longest);
    expect(truncateConditionMessage("Waiting.")).toBe("Waiting.");
  });

  test("that is too long is cut to what the schema takes, and shows that it was cut", () => {
    const message = truncateStatusMessage("x".repeat(MAX_STATUS_MESSAGE_LENGTH + 1));
    expect(message.endsWith("…")).toBe(true);
    expect(clusterStatusSchema.safeParse({ message }).success).toBe(true);
  });
});

test("docs/operators/conditions.md has every condition of clusters and node pools, and no other", () => {
  const text = readFileSync(
    join(import.meta.dirname, "..", "..", "docs", "operators", "conditions.md"),
    "utf8",
  );
  const [, clusters = "", pools = ""] = text.split(/^\| condition of .*$/m);
  const namesIn = (text: string) =>
    new Set([...(text.split("\n\n", 1)[0]?.matchAll(/^\| `(\w+)`/gm) ?? [])].map(([, name]) => name));
  expect(namesIn(clusters)).toEqual(new Set(clusterConditionTypes));
  expect(namesIn(pools)).toEqual(new Set(nodePoolConditionTypes));
});

test.each<[string, boolean]>([
  ["Ready", true],
  ["example.com/BackedUp", true],
  ["", false],
  ["not a type", false],
  ["/BackedUp", false],
])("the type %j of a condition is valid: %s", (type, isValid) => {
  const condition = {
    type,
    status: "True",
    reason: "Done",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  expect(clusterStatusSchema.safeParse({ conditions: [condition] }).success).toBe(isValid);
});
