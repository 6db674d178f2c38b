import { expect, test } from "vitest";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { createLogger } from "../../shared/log.ts";
import { createCaches } from "../caches.ts";
import { aCluster, makeCondition, NAMESPACE, START } from "../testing.ts";
import { composeAdminSecret } from "./admin-kubeconfig.ts";
import { type AccessDeps, runAccess } from "./run.ts";
import { makeAuthority, makeCaSecret } from "./testing.ts";
import { trimAuthority, trimCredential } from "./trim.ts";

const authority = await makeAuthority("one");
const KEY = `${NAMESPACE}/demo`;
const OF_CA = "get secrets demo-ca";
const NOTE = "patch secrets demo-admin-kubeconfig";
const ISSUE = "apply secrets demo-admin-kubeconfig";

/** A cluster whose control plane is not up yet, and an API server that holds its CA and takes every write. */
function start() {
  const { caches } = createCaches({
    client: { list: neverAsked, watch: neverAsked },
    platformNamespace: "marina-system",
    log: createLogger({ name: "test", level: "silent" }),
    metrics: { onRestart: () => undefined, onSize: () => undefined },
  });
  const fixture = aCluster().ready();
  const engine = fixture.engineSaying([makeCondition("ControlPlaneInitialized", "False")]).engineObject();
  caches.engineClusters.set(engine);
  const { cluster } = fixture.observed;
  caches.clusters.set(cluster);

  const requests: string[] = [];
  const server = { ca: makeCaSecret(authority, "1"), credential: undefined as Secret | undefined };
  let version = 100;
  const store = (object: KubeObject) => {
    version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    if (object.kind === "Role") caches.roles.set(stored as never);
    else if (object.kind === "RoleBinding") caches.roleBindings.set(stored as never);
    else {
      server.credential = stored as Secret;
      caches.credentials.set(trimCredential(stored as Secret));
    }
    return stored;
  };
  const note = (verb: string, kind: Kind<unknown>, name: string) => {
    if (kind === secretKind) requests.push(`${verb} ${kind.plural} ${name}`);
  };
  const deps: AccessDeps = {
    client: {
      async get(kind, _namespace, name) {
        note("get", kind, name);
        return server.ca as never;
      },
      async apply(kind, object) {
        const whole = object as unknown as KubeObject;
        note("apply", kind, whole.metadata.name);
        return store(whole) as never;
      },
      async mergePatch(kind, _namespace, name, patch) {
        note("patch", kind, name);
        const { annotations } = (patch as KubeObject).metadata;
        const { metadata, ...rest } = server.credential as Secret;
        const noted = { ...metadata, annotations: { ...metadata.annotations, ...annotations } };
        return store({ ...rest, metadata: noted }) as never;
      },
    },
    caches,
    apiserver: { namespace: "marina-system", name: "marina-apiserver" },
    now: () => START,
    tenants: { withTenant: neverAsked, forget: () => undefined },
    random: () => 0,
    seen: new Set(),
    onWritten: () => undefined,
  };
  const showCa = (secret: Secret) => {
    server.ca = secret;
    caches.authorities.set(trimAuthority(secret) as KubeObject);
  };
  showCa(server.ca);
  /** One round, and another one; returns the requests for Secrets of each. */
  const run = async () => {
    const rounds: string[][] = [];
    for (let round = 0; round < 2; round++) {
      await runAccess(deps, KEY, new AbortController().signal);
      rounds.push(requests.splice(0));
    }
    return rounds;
  };
  return { cluster, server, showCa, hold: store, run };
}

test("a kubeconfig is issued with the CA, and a settled one costs no request", async () => {
  const { run, server } = start();
  expect(await run()).toEqual([[OF_CA, ISSUE], []]);
  expect(trimCredential(server.credential as Secret).data?.["ca.crt"]).toBe(authority.certificate);
});

test("another version of the CA's Secret with the same certificate is noted, and the kubeconfig stays", async () => {
  const { run, server, showCa } = start();
  await run();
  const before = server.credential?.data;
  showCa(makeCaSecret(authority, "2"));
  expect(await run()).toEqual([[OF_CA, NOTE], []]);
  expect(server.credential?.data).toEqual(before);
});

test("another CA means another kubeconfig", async () => {
  const { run, server, showCa } = start();
  await run();
  const other = await makeAuthority("two");
  showCa(makeCaSecret(other, "2"));
  expect(await run()).toEqual([[OF_CA, ISSUE], []]);
  expect(trimCredential(server.credential as Secret).data?.["ca.crt"]).toBe(other.certificate);
});

test("a kubeconfig without the mark is compared with its CA once, and stays", async () => {
  const { run, server, hold, cluster } = start();
  const basis = { clusterId: cluster.metadata.labels?.["cloud.marina.dev/id"] ?? "" };
  const issued = composeAdminSecret(
    cluster,
    { ...basis, credentialsGeneration: 0, server: "https://api.demo.test:6443" },
    { certificate: authority.certificate, mark: "" },
    { certificate: "certificate", key: "key" },
    START,
  );
  delete issued.metadata.annotations?.["cloud.marina.dev/credential-authority"];
  hold(issued);
  expect(await run()).toEqual([[OF_CA, NOTE], []]);
  expect(server.credential?.data).toEqual(issued.data);
});

test("a cache that lags behind the CA that was read leads to no write", async () => {
  const { run, server } = start();
  server.ca = makeCaSecret(authority, "2");
  expect(await run()).toEqual([[OF_CA, ISSUE], [OF_CA]]);
});

function neverAsked(): never {
  throw new Error("the caches of a test have no API server");
}
