import { expect, test } from "vitest";
import { nodePoolStatusSchema } from "./node-pool.ts";

const machine = (index: number) => ({
  name: `web-${index}`,
  uid: `uid-${index}`,
  ready: true,
  createdAt: "2026-11-21T09:00:00Z",
});

test("the status of a rollout of the largest pool holds its machines, old and new, and not one less", () => {
  const machines = Array.from({ length: 1200 }, (_, index) => machine(index));
  expect(nodePoolStatusSchema.safeParse({ machines }).success).toBe(true);
  expect(nodePoolStatusSchema.safeParse({ machines: [...machines, machine(1200)] }).success).toBe(false);
});
