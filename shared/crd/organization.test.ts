import { expect, test } from "vitest";
import type { Namespace } from "../kube/core-kinds.ts";
import { createStore } from "../kube/store.ts";
import { findNamespaceOrganization, INDEX_ORGANIZATION, indexByOrganization } from "./organization.ts";

const namespace = (name: string, org: string | undefined, created: string): Namespace => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name,
    uid: `uid-${name}`,
    creationTimestamp: created,
    ...(org !== undefined && { labels: { "cloud.marina.dev/org-id": org } }),
  },
});

const namespaces = createStore<Namespace>({ [INDEX_ORGANIZATION]: indexByOrganization });
namespaces.set(namespace("first", "1", "2026-01-01T00:00:00Z"));
namespaces.set(namespace("second", "1", "2026-01-02T00:00:00Z"));
namespaces.set(namespace("plain", undefined, "2026-01-01T00:00:00Z"));

test.each([
  { name: "first", organization: { kind: "known", id: "1" } },
  { name: "second", organization: { kind: "duplicate", namespace: "first" } },
  { name: "plain", organization: { kind: "unknown" } },
  { name: "absent", organization: { kind: "unknown" } },
])("the namespace $name belongs to $organization", ({ name, organization }) => {
  expect(findNamespaceOrganization(namespaces, name)).toEqual(organization);
});
