import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, expect, test } from "vitest";
import type { KubeClient } from "../../shared/kube/client.ts";
import { namespaceKind, type Secret } from "../../shared/kube/core-kinds.ts";
import { createStore } from "../../shared/kube/store.ts";
import { aCluster, NAMESPACE } from "../testing.ts";
import { markAuthority } from "./admin-kubeconfig.ts";
import { createTenantAccess } from "./tenant.ts";
import { makeAuthority, makeCaSecret } from "./testing.ts";

const MINUTE_MS = 60_000;
const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A tenant's API server that asks for a certificate of its CA, and how many looks found which. */
async function start() {
  const pair = await makeAuthority("kubernetes");
  const seen: string[] = [];
  // Our own clock is behind the server's, so that it can move on.
  const state = { status: 200, now: Date.now() - 50 * MINUTE_MS, ca: makeCaSecret(pair, "1"), reads: 0 };
  const tls = { cert: pair.certificate, key: pair.key, ca: pair.certificate };
  const server = createServer(
    { ...tls, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const { subject, fingerprint } = (request.socket as TLSSocket).getPeerCertificate();
      seen.push(`${String(subject.O)} ${fingerprint}`);
      response.writeHead(state.status, { "content-type": "application/json" });
      response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push(() => server.close());
  const get = async () => {
    state.reads += 1;
    return state.ca;
  };
  const tenants = createTenantAccess({
    client: { get: get as unknown as KubeClient["get"] },
    caches: { credentials: createStore<Secret>() },
    now: () => new Date(state.now),
    isLeader: () => true,
  });
  const { cluster } = aCluster().observed;
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const look = () => {
    const tenant = { server: url, authority: markAuthority(state.ca.metadata) };
    return tenants.withTenant(cluster, tenant, new AbortController().signal, (client) =>
      client.list(namespaceKind),
    );
  };
  /** How many certificates the looks so far were made with, and how often the CA was read for them. */
  const count = () => ({ certificates: new Set(seen).size, reads: state.reads });
  return { pair, state, seen, tenants, look, count };
}

test("a look is master of the tenant cluster, and the next one goes with the same certificate", async () => {
  const { look, count, seen } = await start();
  await look();
  await look();
  expect(seen[0]).toMatch(/^system:masters /);
  expect(count()).toEqual({ certificates: 1, reads: 1 });
});

test("a certificate is made anew before it ends", async () => {
  const { look, count, state } = await start();
  await look();
  state.now += 49 * MINUTE_MS;
  await look();
  expect(count()).toEqual({ certificates: 1, reads: 1 });
  state.now += 2 * MINUTE_MS;
  await look();
  expect(count()).toEqual({ certificates: 2, reads: 2 });
});

test("another version of the CA's Secret, and a cluster that went and came again, are read anew", async () => {
  const { look, count, state, tenants, pair } = await start();
  await look();
  state.ca = makeCaSecret(pair, "2");
  await look();
  expect(count()).toEqual({ certificates: 2, reads: 2 });
  tenants.forget(`${NAMESPACE}/demo`);
  await look();
  expect(count()).toEqual({ certificates: 3, reads: 3 });
});

test("after a refusal the next look goes with another certificate", async () => {
  const { look, count, state } = await start();
  state.status = 401;
  await expect(look()).rejects.toMatchObject({ status: 401 });
  state.status = 200;
  await look();
  expect(count()).toEqual({ certificates: 2, reads: 2 });
});
