import { describe, expect, test } from "vitest";
import { createId } from "../../../shared/program/id.ts";
import { toEventRow } from "../../events/emit.ts";
import { bodySchemaOf } from "../../webhooks/event-schema.ts";
import { projected, projectedPool } from "./testing.ts";
import { webhookEventOf } from "./transitions.ts";

const orgId = createId();
const at = new Date("2026-11-21T09:05:00Z");
const cluster = projected(orgId, 1);
const pool = projectedPool(cluster, 1);
const common = { cluster_id: cluster.id, org_id: orgId, name: "Name 1" };

describe("a transition of a cluster is published as", () => {
  test.each<[string, Record<string, string>, string | undefined, object?]>([
    ["created", {}, "cluster.created", { status: "provisioning", k8s_version: "1.34.2" }],
    ["ready", { version: "1.34.3" }, "cluster.ready", { status: "running", k8s_version: "1.34.3" }],
    [
      "upgraded",
      { version: "1.35.0", previousVersion: "1.34.2" },
      "cluster.upgraded",
      { status: "running", k8s_version: "1.35.0", previous_version: "1.34.2" },
    ],
    [
      "degraded",
      { reason: "NodesUnhealthy" },
      "cluster.degraded",
      { status: "degraded", k8s_version: "1.34.2", reason: "NodesUnhealthy" },
    ],
    ["deleted", {}, "cluster.deleted", { status: "deleting", k8s_version: "1.34.2" }],
    ["recovered", {}, undefined],
    ["failed", { reason: "PlanUnknown" }, undefined],
    ["constructor", {}, undefined],
  ])("%s %o: %s", (type, details, expected, data) => {
    const event = webhookEventOf(cluster, { type, at, details });
    expect(event).toEqual(
      expected && { orgId, type: expected, occurredAt: at, data: { ...common, ...data } },
    );
    if (event === undefined) return;
    const { body } = toEventRow({ id: createId(), ...event });
    bodySchemaOf(event.type).parse(JSON.parse(body));
  });
});

test.each<[string, Record<string, string>, object | undefined]>([
  [
    "node_replaced",
    { oldNode: "a", newNode: "b", reason: "Unhealthy" },
    { old_node: "a", new_node: "b", reason: "Unhealthy" },
  ],
  [
    "node_replaced",
    { newNode: "b", reason: "Requested" },
    { old_node: null, new_node: "b", reason: "Requested" },
  ],
  ["ready", {}, undefined],
  ["created", {}, undefined],
  ["deleted", {}, undefined],
])("a pool's transition %s %o is published only when a node was replaced", (type, details, data) => {
  const event = webhookEventOf(pool, { type, at, details });
  expect(event).toEqual(
    data && {
      orgId,
      type: "node.replaced",
      occurredAt: at,
      data: { cluster_id: cluster.id, node_pool_id: pool.id, ...data },
    },
  );
});

test("the data of a replaced node is valid", () => {
  const details = { oldNode: "a", newNode: "b", reason: "Unhealthy" };
  const event = webhookEventOf(pool, { type: "node_replaced", at, details });
  expect(bodySchemaOf("node.replaced").shape.data.safeParse(event?.data).success).toBe(true);
});
