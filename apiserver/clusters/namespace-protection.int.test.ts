import { eq, sql } from "drizzle-orm";
import { describe, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import type { KubeError } from "../../shared/kube/errors.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { keepProtection } from "../organizations/index.ts";
import { organizations } from "../organizations/table.ts";
import { startProjector } from "../resources/project/projector.ts";
import { startTestApp } from "../testing/app.ts";
import {
  createProtected,
  findNamespace,
  keepMark,
  PROTECTED_KINDS,
  protect,
  protectByKubectl,
  readLabel,
  setUpAdminClient,
} from "./testing-protection.ts";

const api = setUp(startTestApp);
const admin = setUpAdminClient();

describe.each(PROTECTED_KINDS)("of a protected %s", (kind) => {
  test("the Namespace is labelled by the request that creates it, and as long as it is protected", async () => {
    const made = await createProtected(api, { [kind]: true });
    expect(await readLabel(api, made)).toBe(made.labels[kind]);
    await keepMark(api, made);
    expect(await readLabel(api, made)).toBe(made.labels[kind]);
    expect((await protect(api, made.paths[kind], false)).status).toBe(200);
    await keepMark(api, made);
    expect(await readLabel(api, made)).toBeUndefined();
  });

  test("the Namespace is labelled by the request that sets it, and not by its dry run", async () => {
    const made = await createProtected(api);
    const dryRun = await protect(api, `${made.paths[kind]}?dry_run=true`, true);
    expect([dryRun.status, await readLabel(api, made)]).toEqual([200, undefined]);
    const { status, body } = await protect(api, made.paths[kind], true);
    expect([status, body.deletion_protection]).toEqual([200, true]);
    expect(await readLabel(api, made)).toBe(made.labels[kind]);
    const state = async () => (await api.request("GET", made.paths[kind])).body.deletion_protection_state;
    expect(["pending", "on"]).toContain(await state());
  });

  test.each([
    ["sets it again", { deletion_protection: true }],
    ["changes something else", { name: "renamed" }],
  ])(
    "the Namespace is labelled by a request that %s after kubectl, and not by its dry run",
    async (_, body) => {
      const made = await createProtected(api);
      await protectByKubectl(api, made, true, kind);
      const dryRun = await api.request("PUT", `${made.paths[kind]}?dry_run=true`, { body });
      expect([dryRun.status, await readLabel(api, made)]).toEqual([200, undefined]);
      const answer = await api.request("PUT", made.paths[kind], { body });
      expect([answer.status, answer.body.deletion_protection]).toEqual([200, true]);
      expect(await readLabel(api, made)).toBe(made.labels[kind]);
    },
  );

  test("a request that changes nothing leaves a label that names something else", async () => {
    const other = kind === "pool" ? "cluster" : "pool";
    const made = await createProtected(api, { [other]: true });
    await protectByKubectl(api, made, true, kind);
    expect((await protect(api, made.paths[kind], true)).status).toBe(200);
    expect(await readLabel(api, made)).toBe(made.labels[other]);
  });

  test("the Namespace is deleted by no administrator", async () => {
    const { namespace } = await createProtected(api, { [kind]: true });
    const removal = admin.delete(namespaceKind, undefined, namespace);
    await expect(removal).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining(
        "is protected from deletion: set spec.deletionProtection to false first.",
      ),
    } satisfies Partial<KubeError>);
  });
});

test("the projector sets and removes the label of the Namespace of what kubectl protects, and the record says when it holds", async () => {
  const made = await createProtected(api);
  const stop = new AbortController();
  const { stopped } = startProjector(api.deps, stop.signal, {
    keepProtection: (namespace, objects) => keepProtection(api.deps, namespace, objects),
  });
  onTestFinished(async () => {
    stop.abort();
    await stopped;
  });
  const { paths } = made;
  const stateIs = (wanted: string) =>
    waitFor(`the record to say ${wanted}`, async () => {
      const { body } = await api.request("GET", paths.cluster);
      return body.deletion_protection_state === wanted;
    });
  await protectByKubectl(api, made, true);
  await stateIs("on");
  expect(await readLabel(api, made)).toBe(made.labels.cluster);
  await protectByKubectl(api, made, null);
  await waitFor("the label to go", async () => (await readLabel(api, made)) === undefined);
  await stateIs("off");
});

test("a label is removed after a look at what asks for protection, and at nothing else", async () => {
  const made = await createProtected(api, { cluster: true });
  await protect(api, made.paths.cluster, false);
  await protectByKubectl(api, made, true, "pool");
  const { kube } = api.deps;
  const read: string[] = [];
  const listAll: KubeClient["listAll"] = async (kind, options) => {
    const items = await kube.listAll(kind, options);
    read.push(...items.map((item) => (item as KubeObject).metadata.name ?? ""));
    return items;
  };
  const deps = { ...api.deps, kube: { ...kube, listAll } };
  await keepMark(api, made, deps, []);
  expect([read, await readLabel(api, made)]).toEqual([[made.known.pool.name], made.labels.cluster]);
  await protectByKubectl(api, made, null, "pool");
  await keepMark(api, made, deps, []);
  expect([read, await readLabel(api, made)]).toEqual([[made.known.pool.name], undefined]);
});

test("the label of a deleted organization's Namespace goes with the last protection in it", async () => {
  const made = await createProtected(api, { cluster: true });
  const { orgId, labels } = made;
  await api.deps.db.update(organizations).set({ deletedAt: sql`now()` }).where(eq(organizations.id, orgId));
  await keepMark(api, made, api.deps, []);
  expect(await readLabel(api, made)).toBe(labels.cluster);
  await protectByKubectl(api, made, false);
  await keepMark(api, made);
  expect(await readLabel(api, made)).toBeUndefined();
});

test("what is protected in a Namespace that is deleted all the same stays, and says how it goes", async () => {
  const made = await createProtected(api);
  const { namespace, known } = made;
  const { kube } = api.deps;
  await protectByKubectl(api, made, true);
  await admin.delete(namespaceKind, undefined, namespace);
  await waitFor("the message", async () => {
    const { status } = (await kube.get(clusterKind, namespace, known.cluster.name)) ?? {};
    return status?.message?.includes("set spec.deletionProtection to false to let its deletion proceed");
  });
  await waitFor("the pool to go", async () => {
    return (await kube.get(nodePoolKind, namespace, known.pool.name)) === undefined;
  });
  const left = await kube.get(clusterKind, namespace, known.cluster.name);
  expect(left?.metadata.deletionTimestamp).toBeUndefined();
  for (const body of [{ deletion_protection: true }, { name: "renamed" }]) {
    const answer = await api.request("PUT", made.paths.cluster, { body });
    expect([answer.status, answer.body.error?.message]).toEqual([
      409,
      expect.stringContaining("namespace is being deleted: nothing in it can be protected"),
    ]);
  }
  await protectByKubectl(api, made, false);
  await waitFor("the Namespace to go", async () => (await findNamespace(api, made)) === undefined);
});
