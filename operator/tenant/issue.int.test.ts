import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { type KubeConnection, loadConnection } from "../../shared/kube/connection.ts";
import { composeAccessBinding, ensureBinding, removeBinding } from "./binding.ts";
import { requestCertificate, requestToken } from "./issue.ts";
import { createRequest } from "./sign.ts";
import { connectTenant } from "./tenant.ts";
import type { TenantClient } from "./tenant-client.ts";

/** The management cluster plays the tenant: a real API server without a controller that signs certificates. */
const connection = loadConnection(process.env.MARINA_TEST_KUBECONFIG);

function connect<Result>(
  as: KubeConnection,
  use: (client: TenantClient) => Promise<Result>,
): Promise<Result> {
  return connectTenant(as, { signal: new AbortController().signal, mayWrite: () => true }, use);
}

/** Does what only a cluster's admin may: removes a binding, of a name that none has. */
function useToken(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const { server, ca } = connection;
  return connect({ server, ca, readHeaders: async () => headers }, (tenant) =>
    removeBinding(tenant, `nobody-${randomUUID()}`, "ca"),
  );
}

test("a control plane without a signer gives no certificate, and nothing of the request is left", async () => {
  const { csr } = await createRequest("alice", `group-${randomUUID()}`);
  expect(await connect(connection, (tenant) => requestCertificate(tenant, csr, 600))).toBeUndefined();
});

test("a token has the right of its binding, and ends with it; one of another account stays", async () => {
  const issue = (name: string) =>
    connect(connection, async (tenant) => {
      const binding = composeAccessBinding(name, "kubeconfig");
      await ensureBinding(tenant, binding);
      return { binding, ...(await requestToken(tenant, binding.metadata.name, 600)) };
    });
  const ended = await issue(randomUUID());
  const kept = await issue(randomUUID());
  const lifetimeMs = ended.expiresAt.getTime() - Date.now();
  expect(lifetimeMs).toBeLessThanOrEqual(601_000);
  await useToken(ended.token);
  const remove = ({ binding }: typeof kept) =>
    connect(connection, (tenant) => removeBinding(tenant, binding.metadata.name, "kubeconfig"));
  await remove(ended);
  await expect(useToken(ended.token)).rejects.toMatchObject({ status: expect.toBeOneOf([401, 403]) });
  await useToken(kept.token);
  await remove(kept);
});
