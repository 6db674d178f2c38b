import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { FINALIZER } from "../../shared/crd/names.ts";
import { findCluster } from "../resources/project/index.ts";
import { startTestApp, type TestApp, type TestAppChanges } from "./app.ts";
import { startTestIssuer, type TestIssuer } from "./issuer.ts";

/** An API server and the identity provider of its people. */
export interface TestService {
  /** Its `close` ends the identity provider too. */
  api: TestApp;
  issuer: TestIssuer;
}

/** Starts an API server that trusts an identity provider of its own, beside `issuers`. */
export async function startTestService(changes: TestAppChanges = {}): Promise<TestService> {
  const issuer = await startTestIssuer();
  const app = await startTestApp({ ...changes, issuers: [issuer.config, ...(changes.issuers ?? [])] });
  const close = async () => {
    await app.close();
    issuer.close();
  };
  return { api: { ...app, close }, issuer };
}

/** Starts one for the tests of a file, as `setUp` does, with the changes that there are by then. */
export function setUpTestService(readChanges: () => TestAppChanges = () => ({})): TestService {
  const issuer = {} as TestIssuer;
  const api = setUp(async () => {
    const service = await startTestService(readChanges());
    Object.assign(issuer, service.issuer);
    return service.api;
  });
  return { api, issuer };
}

interface OfClusters {
  /** An organization of alice's. */
  orgId: string;
  /** The path of its clusters. */
  clusters: string;
}

/** Starts an API server with an organization of alice's. */
export async function startTestClusters(): Promise<{ api: TestApp } & OfClusters> {
  const api = await startTestApp();
  const orgId = await api.createOrganization();
  return { api, orgId, clusters: `/api/v1/organizations/${orgId}/clusters` };
}

/** Starts one for the tests of a file, as `setUp` does. */
export const setUpTestClusters = (): TestApp & OfClusters =>
  setUp(async () => {
    const { api, ...of } = await startTestClusters();
    return { ...api, ...of };
  });

/**
 * Waits until the operator holds a cluster by its finalizer: one without is gone at once when it is deleted, at the time of the API
 * server's clock, which a test may have set.
 */
export async function waitForFinalizer({ deps }: TestApp, orgId: string, clusterId: string): Promise<void> {
  await waitFor("the operator's finalizer", async () => {
    const known = await findCluster(deps.db, orgId, clusterId);
    if (known === undefined) return false;
    const live = await deps.kube.get<Cluster>(clusterKind, known.namespace, known.name);
    return live?.metadata.finalizers?.includes(FINALIZER) === true;
  });
}
