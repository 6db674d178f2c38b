import { afterAll } from "vitest";
import { waitForRegistry } from "../../../e2e/platform/stack/testing.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";
import { parseRepository } from "../names.ts";
import { findScan, PRIORITIES, requestScan } from "../scans/store.ts";
import { testRegistry } from "../testing.ts";
import { createDistribution } from "./distribution.ts";
import { testRegistryContract } from "./testing-contract.ts";

let api: TestApp;
afterAll(() => api.close());

testRegistryContract(async () => {
  const { url } = await waitForRegistry();
  api = await startTestApp({ registry: {} });
  const { db, now } = api.deps;
  return {
    url,
    backend: createDistribution(testRegistry(api), now),
    createOrganization: () => api.createOrganization(),
    scansOf: (orgId) => ({
      find: (_repository, digest) => findScan(db, orgId, digest),
      async request(repository, digest) {
        const { name = "" } = parseRepository(repository) ?? {};
        const priority = PRIORITIES.requested;
        return (await requestScan(db, { orgId, digest, repository: name, priority, at: now() })).state;
      },
    }),
  };
});
