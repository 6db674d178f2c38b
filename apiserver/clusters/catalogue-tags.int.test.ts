import { beforeAll, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import type { VersionCatalogue } from "../../shared/crd/kubernetes-version.ts";
import { VERSION_CATALOGUE_KEY } from "../../shared/crd/names.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import type { Deps } from "../deps.ts";
import { projectObservations } from "../resources/project/index.ts";
import { projected } from "../resources/project/testing.ts";
import { startTestApp } from "../testing/app.ts";

const OLD: VersionCatalogue = [{ version: "1.34.2", status: "supported" }];
const NEW: VersionCatalogue = [...OLD, { version: "1.34.3", status: "supported" }];

let catalogue = OLD;
const api = setUp(async () => {
  const app = await startTestApp();
  const { kube } = app.deps;
  const get: Deps["kube"]["get"] = async (kind, ...place) =>
    (kind as unknown) === configMapKind
      ? ({ data: { [VERSION_CATALOGUE_KEY]: JSON.stringify(catalogue) } } as never)
      : kube.get(kind, ...place);
  Object.assign(app.deps, { kube: { ...kube, get } });
  return app;
});
const paths: Record<string, string> = {};
let elapsedMs = 0;

beforeAll(async () => {
  const orgId = await api.createOrganization();
  const { object, ...cluster } = projected(orgId, 1);
  const running = { ...object, status: { ...object.status, version: "1.34.2" } };
  await api.deps.db.transaction((tx) =>
    projectObservations(tx, [{ object: { ...cluster, object: running } }]),
  );
  paths.cluster = `/api/v1/organizations/${orgId}/clusters/${cluster.id}`;
  paths["network policy"] = `${paths.cluster}/network`;
  paths["cluster for staff"] = `/api/v1/admin/organizations/${orgId}/clusters/${cluster.id}/suspension`;
  Object.assign(api.deps, { now: () => new Date(Date.now() + elapsedMs) });
});

test.each(["cluster", "network policy", "cluster for staff"])(
  "a GET of the %s is 304 while nothing changes, and 200 with another tag once the catalogue has an upgrade",
  async (what) => {
    const get = (headers = {}) =>
      api.request("GET", paths[what] ?? "", { as: what.endsWith("staff") ? "staff" : "alice", headers });
    /** The catalogue is read again after 30 s, in the background. */
    const publish = async (next: VersionCatalogue) => {
      catalogue = next;
      elapsedMs += 31_000;
      return waitFor("the new catalogue", async () => {
        const { headers } = await get();
        const tag = headers.get("etag") ?? "";
        return tag.endsWith('-upgrade"') === (next === NEW) ? tag : undefined;
      });
    };
    const before = await publish(OLD);
    expect((await get({ "if-none-match": before })).status).toBe(304);
    const after = await publish(NEW);
    const changed = await get({ "if-none-match": before });
    expect([changed.status, changed.headers.get("etag")]).toEqual([200, after]);
    const hasField = what !== "network policy";
    expect(changed.body.upgrade_available).toBe(hasField ? true : undefined);
    expect((await get({ "if-none-match": after })).status).toBe(304);
  },
);
