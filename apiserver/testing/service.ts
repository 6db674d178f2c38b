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

/** Starts an API server with an organization of alice's; `clusters` is the path of its clusters. */
export async function startTestClusters(): Promise<{ api: TestApp; orgId: string; clusters: string }> {
  const api = await startTestApp();
  const orgId = await api.createOrganization();
  return { api, orgId, clusters: `/api/v1/organizations/${orgId}/clusters` };
}
