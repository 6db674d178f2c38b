import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { namespaceKind } from "../kube/core-kinds.ts";
import type { Kind, KubeObject } from "../kube/kind.ts";
import { clusterKind } from "./cluster.ts";
import { clusterAccessKind } from "./cluster-access.ts";
import { LABEL_ID, LABEL_ORG_ID } from "./names.ts";
import { nodePoolKind } from "./node-pool.ts";
import { storageInventoryKind } from "./storage-inventory.ts";
import {
  clusterAccessSpec,
  idleClusterSpec,
  nodePoolSpec,
  objectOf,
  openTestApi,
  rejectionOf,
} from "./testing.ts";

const id = "018f6f9e-7c3b-7a52-9d3e-2f6f0a4f1c11";
const other = "018f6f9e-7c3b-7a52-9d3e-2f6f0a4f1c12";
const notUuids = ["x", id.toUpperCase(), id.replaceAll("-", ""), `${id}0`, ""];
const written = { fieldManager: "test" };

const subjects: { kind: Kind<KubeObject>; name: string; spec: object; label: string }[] = [
  { kind: clusterKind, name: "shop", spec: idleClusterSpec },
  { kind: nodePoolKind, name: "web", spec: nodePoolSpec },
  { kind: clusterAccessKind, name: "alice", spec: clusterAccessSpec },
  { kind: storageInventoryKind, name: "shared-storage", spec: {} },
].flatMap((subject) => [LABEL_ID, LABEL_ORG_ID].map((label) => ({ ...subject, label })));

const api = setUp(openTestApi);

describe.each(subjects)("the label $label of a $kind.kind", ({ kind, name, spec, label }) => {
  const create = (labels: object, dryRun: boolean) => {
    const object = objectOf(kind, { name, namespace: api.namespace, labels }, spec);
    return rejectionOf(api.client.create(kind, object, { ...written, dryRun }));
  };
  const relabel = (value: string | null) => {
    const patch = { metadata: { labels: { [label]: value } } };
    return rejectionOf(api.client.mergePatch(kind, api.namespace, name, patch, { ...written, dryRun: true }));
  };

  test("is a UUID in lower case", async () => {
    for (const value of notUuids) {
      expect(await create({ [label]: value }, true)).toContain(
        `metadata.labels[${label}]: must be a UUID in lower case`,
      );
    }
    expect(await create({ [label]: id }, true)).toBeUndefined();
    expect(await create({ other: "x" }, true)).toBeUndefined();
  });

  test("may be added later, and is immutable once set", async () => {
    expect(await create({ [label]: id }, false)).toBeUndefined();
    const rejection = `metadata.labels[${label}]: cannot be changed once it is set`;
    expect(await relabel(id)).toBeUndefined();
    expect(await relabel(other)).toContain(rejection);
    expect(await relabel(null)).toContain(rejection);
    await api.client.delete(kind, api.namespace, name);
  });
});

describe("the organization label of a Namespace", () => {
  const relabel = (value: string | null, dryRun = false) => {
    const patch = { metadata: { labels: { [LABEL_ORG_ID]: value } } };
    const options = { ...written, dryRun };
    return rejectionOf(api.client.mergePatch(namespaceKind, undefined, api.namespace, patch, options));
  };

  test("is a UUID in lower case, may be added later, and is immutable once set", async () => {
    for (const value of notUuids) {
      expect(await relabel(value, true)).toContain(
        `metadata.labels[${LABEL_ORG_ID}]: must be a UUID in lower case`,
      );
    }
    expect(await relabel(randomUUID())).toBeUndefined();
    const rejection = `metadata.labels[${LABEL_ORG_ID}]: cannot be changed once it is set`;
    expect(await relabel(other)).toContain(rejection);
    expect(await relabel(null)).toContain(rejection);
  });
});
