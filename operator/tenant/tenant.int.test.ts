import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { composeCaData, makeAuthority } from "../../shared/tenant/testing.ts";
import { aCluster } from "../testing-cluster.ts";
import { revisionOf } from "./access.ts";
import { ensureBindings } from "./binding.ts";
import { createTenantAccess } from "./tenant.ts";

const MINUTE_MS = 60_000;
const TEST = { fieldManager: "test" };
const CA = "demo-ca";

let api: TestApi;
let closeTenant: (() => void) | undefined;
beforeEach(async () => {
  api = await openTestApi();
});
afterEach(async () => {
  closeTenant?.();
  await api.close();
});

/** A tenant's API server that asks for a certificate of its CA, and which certificates it received. */
async function start() {
  const { client, namespace } = api;
  const pair = await makeAuthority("kubernetes");
  let ca = await client.create(
    secretKind,
    { metadata: { namespace, name: CA }, data: composeCaData(pair) },
    TEST,
  );
  const seen: string[] = [];
  // Our own clock is behind the server's, so that it can move on.
  const state = { status: 200, now: Date.now() - 50 * MINUTE_MS, reads: 0 };
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
  closeTenant = () => server.close();
  const get: KubeClient["get"] = (kind, where, name, options) => {
    state.reads += 1;
    return client.get(kind, where, name, options);
  };
  const tenants = createTenantAccess({
    client: { get },
    now: () => new Date(state.now),
    isLeader: () => true,
  });
  const { cluster: demo } = aCluster().observed;
  const cluster = { ...demo, metadata: { ...demo.metadata, namespace } };
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connect = () => {
    const tenant = { server: url, accessSource: { kind: "ca" as const, revision: revisionOf(ca.metadata) } };
    return tenants.withTenant(cluster, tenant, new AbortController().signal, (tenantClient) =>
      ensureBindings(tenantClient, () => ({ desired: [], isKept: () => false, revision: "" }), {
        sweeps: new Map(),
        key: "demo",
      }),
    );
  };
  /** Writes another version of the CA's Secret, as the caches then show it. */
  const touchCa = async () => {
    const note = { metadata: { annotations: { "example.com/note": "another version" } } };
    ca = await client.mergePatch(secretKind, namespace, CA, note, TEST);
  };
  const forget = () => tenants.forget(`${namespace}/demo`);
  /** How many certificates the connections so far used, and how often the CA was read for them. */
  const count = () => ({ certificates: new Set(seen).size, reads: state.reads });
  return { state, seen, connect, touchCa, forget, count };
}

test("a connection is in system:masters, and the next one uses the same certificate", async () => {
  const { connect, count, seen } = await start();
  await connect();
  await connect();
  expect(seen[0]).toMatch(/^system:masters /);
  expect(count()).toEqual({ certificates: 1, reads: 1 });
});

test("a certificate is renewed before it expires", async () => {
  const { connect, count, state } = await start();
  await connect();
  state.now += 49 * MINUTE_MS;
  await connect();
  expect(count()).toEqual({ certificates: 1, reads: 1 });
  state.now += 2 * MINUTE_MS;
  await connect();
  expect(count()).toEqual({ certificates: 2, reads: 2 });
});

test("another version of the CA's Secret, and a cluster that was deleted and created again, lead to a new certificate", async () => {
  const { connect, count, touchCa, forget } = await start();
  await connect();
  await touchCa();
  await connect();
  expect(count()).toEqual({ certificates: 2, reads: 2 });
  forget();
  await connect();
  expect(count()).toEqual({ certificates: 3, reads: 3 });
});

test("after a rejection the next connection uses a new certificate", async () => {
  const { connect, count, state } = await start();
  state.status = 401;
  await expect(connect()).rejects.toMatchObject({ status: 401 });
  state.status = 200;
  await connect();
  expect(count()).toEqual({ certificates: 2, reads: 2 });
});
