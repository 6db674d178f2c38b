import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { VersionCatalogue } from "../../shared/kubernetes-version.ts";
import { type ProjectedCluster, projectObservations } from "../projection/store.ts";
import { projected } from "../projection/testing.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { createRecordReader, type RecordReader } from "./record-cache.ts";

let api: TestApp;
let orgId: string;
let cluster: ProjectedCluster;
let catalogue: VersionCatalogue;
let read: RecordReader;
let number = 0;

beforeAll(async () => {
  api = await startTestApp();
  orgId = await api.createOrganization();
});
afterAll(() => api.close());

beforeEach(async () => {
  catalogue = [{ version: "1.34.2", status: "supported" }];
  const known = () => Promise.resolve(catalogue);
  read = createRecordReader(api.deps, { read: known, readKnown: known });
  cluster = projected(orgId, ++number);
  cluster.object = { ...cluster.object, status: { version: "1.34.2" } };
  await see(cluster);
  await read(orgId, cluster.id);
});

function see(object: ProjectedCluster, report: { gone?: true; authoritative?: true } = {}): Promise<unknown> {
  return api.deps.db.transaction((tx) => projectObservations(tx, [{ object, ...report }]));
}

async function readRecord() {
  return JSON.parse((await read(orgId, cluster.id)).json);
}

const NOT_FOUND = expect.objectContaining({ code: "not_found" });

describe("a record that was read before is read again", () => {
  test("as it was, without being made anew, while nothing has changed", async () => {
    const first = await read(orgId, cluster.id);
    expect(await read(orgId, cluster.id)).toBe(first);
  });

  test("as it is after any write of its row", async () => {
    await see({ ...cluster, displayName: "Another", resourceVersion: cluster.resourceVersion + 1n });
    expect(await readRecord()).toMatchObject({ name: "Another" });
    await api.deps.db.execute(
      sql`update projected_clusters set display_name = 'A third' where id = ${cluster.id}`,
    );
    expect(await readRecord()).toMatchObject({ name: "A third" });
  });

  test("as it is when the Kubernetes store was set back and has come to the same version by another way", async () => {
    const set = { authoritative: true } as const;
    await see({ ...cluster, displayName: "Before", resourceVersion: cluster.resourceVersion - 1n }, set);
    await see({ ...cluster, displayName: "Otherwise" });
    expect(await readRecord()).toMatchObject({ name: "Otherwise" });
  });

  test("with what a new catalogue of versions says of it", async () => {
    expect(await readRecord()).toMatchObject({ upgrade_available: false });
    catalogue = [...catalogue, { version: "1.34.9", status: "supported" }];
    expect(await readRecord()).toMatchObject({ upgrade_available: true });
  });

  test("no more once the cluster was removed", async () => {
    await see(cluster, { gone: true });
    await expect(read(orgId, cluster.id)).rejects.toEqual(NOT_FOUND);
  });

  test("by nobody of another organization", async () => {
    await expect(read(await api.createOrganization(), cluster.id)).rejects.toEqual(NOT_FOUND);
    expect(await readRecord()).toMatchObject({ id: cluster.id });
  });
});
