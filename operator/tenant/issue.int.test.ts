import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { type KubeConnection, loadConnection } from "../../shared/kube/connection.ts";
import type { KubeError } from "../../shared/kube/errors.ts";
import { connectTenant } from "../../shared/tenant/connect.ts";
import type { TenantClient } from "../../shared/tenant/tenant-client.ts";
import { composeAccessBinding, ensureBinding, removeBinding } from "./binding.ts";
import { requestCertificate, requestToken } from "./issue.ts";
import { createRequest } from "./sign.ts";

/** The management cluster plays the tenant: a real API server without a controller that signs certificates. */
const connection = loadConnection(process.env.MARINA_TEST_KUBECONFIG);
/** Far above what is needed, also of a management cluster that is busy with other tests. */
const PATIENT = { callMs: 60_000, allMs: 120_000 };

function connect<Result>(
  as: KubeConnection,
  use: (client: TenantClient) => Promise<Result>,
): Promise<Result> {
  const options = { signal: new AbortController().signal, mayWrite: () => true };
  return connectTenant(as, options, use, PATIENT);
}

/** Does what only a cluster's admin may: removes a binding, of a name that none has. */
function useToken(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const { server, ca } = connection;
  return connect({ server, ca, readHeaders: async () => headers }, (tenant) =>
    removeBinding(tenant, `nobody-${randomUUID()}`, "ca"),
  );
}

/** The status with which a token is refused; undefined while it is not. */
function refusalOf(token: string): Promise<number | undefined> {
  return useToken(token).then(
    () => undefined,
    ({ status }: KubeError) => status,
  );
}

test("a control plane without a signer gives no certificate, and nothing of the request is left", async () => {
  const { csr } = await createRequest("alice", `group-${randomUUID()}`);
  expect(await connect(connection, (tenant) => requestCertificate(tenant, csr, 600))).toBeUndefined();
});

test("a token has the right of its binding, and ends with it; one of another account stays", async () => {
  const revoke = (name: string) => connect(connection, (tenant) => removeBinding(tenant, name, "kubeconfig"));
  const issue = () =>
    connect(connection, async (tenant) => {
      const binding = composeAccessBinding(randomUUID(), "kubeconfig");
      const { name } = binding.metadata;
      onTestFinished(() => revoke(name));
      await ensureBinding(tenant, binding);
      return { name, ...(await requestToken(tenant, name, 600)) };
    });
  const ended = await issue();
  const kept = await issue();
  const lifetimeMs = ended.expiresAt.getTime() - Date.now();
  expect(lifetimeMs).toBeLessThanOrEqual(601_000);
  // The API server decides by bindings that it reads a moment after they were written.
  for (const { token } of [ended, kept])
    await waitFor("the right of a token", async () => (await refusalOf(token)) === undefined);
  await revoke(ended.name);
  await expect.poll(() => refusalOf(ended.token)).toBeOneOf([401, 403]);
  await useToken(kept.token);
});
