import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubectl } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { PACKAGES_CONFIG_MAP, PACKAGES_KEY } from "../../../shared/crd/names.ts";
import { configMapKind } from "../../../shared/kube/core-kinds.ts";
import { startTestApp } from "../../testing/app.ts";
import { packageJobs } from "../jobs.ts";
import { lockPackage, setPackage } from "./changes.ts";

const BY = { fieldManager: "test" };
const namespace = `packages-${randomUUID()}`;
const api = setUp(startTestApp);

beforeAll(async () => {
  await kubectl(["create", "namespace", namespace]);
});
afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--wait=false"]);
});

async function publish() {
  const config = { ...api.deps.config, platformNamespace: namespace };
  for (const job of packageJobs({ ...api.deps, config })) await job.run(new AbortController().signal);
}

async function readPublished() {
  const map = await api.deps.kube.get(configMapKind, namespace, PACKAGES_CONFIG_MAP);
  return {
    version: map?.metadata.resourceVersion,
    packages: JSON.parse(map?.data?.[PACKAGES_KEY] ?? "null"),
  };
}

async function change(slug: string, terms: { retired: boolean; vcpus?: number }, now: Date) {
  const author = { principal: { kind: "user", userId: randomUUID() }, asStaff: true } as never;
  await api.deps.db.transaction(async (tx) => {
    const before = await lockPackage(tx, slug);
    await setPackage(tx, author, { slug, terms: { ...before, ...terms }, before, now: () => now });
  });
}

test("each package is published for the operator, with the time since which a retired one is retired", async () => {
  await publish();
  expect((await readPublished()).packages).toEqual({
    dev: { controlPlaneReplicas: 1 },
    starter: { controlPlaneReplicas: 1 },
    growth: { controlPlaneReplicas: 3 },
    scale: { controlPlaneReplicas: 3 },
  });
  const day = (number: number) => new Date(Date.UTC(2026, 10, number));
  await change("growth", { retired: true }, day(1));
  await change("growth", { retired: false }, day(2));
  await change("growth", { retired: true }, day(3));
  await change("growth", { retired: true, vcpus: 17 }, day(4));
  await publish();
  const { packages } = await readPublished();
  expect(packages.growth).toEqual({ controlPlaneReplicas: 3, retiredAt: day(3).toISOString() });
  expect(packages.dev).toEqual({ controlPlaneReplicas: 1 });
});

test("what was removed or changed by hand is published again, and what is right is not written", async () => {
  await publish();
  const { version, packages } = await readPublished();
  await publish();
  expect((await readPublished()).version).toBe(version);
  await api.deps.kube.mergePatch(
    configMapKind,
    namespace,
    PACKAGES_CONFIG_MAP,
    { data: { [PACKAGES_KEY]: "{}" } },
    BY,
  );
  await publish();
  expect((await readPublished()).packages).toEqual(packages);
  await api.deps.kube.delete(configMapKind, namespace, PACKAGES_CONFIG_MAP);
  await publish();
  expect((await readPublished()).packages).toEqual(packages);
});
