import { expect, test } from "vitest";
import { findTenantTextFault } from "../../e2e/contract/seen/message-forms.ts";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { ClusterAccess, ClusterAccessStatus } from "../../shared/crd/cluster-access.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_RECREATE,
  FINALIZER,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import { toRestWords } from "../../shared/crd/rest-words.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { createId } from "../../shared/program/id.ts";
import { makeAuthority } from "../../shared/tenant/testing.ts";
import { nameCaSecret } from "../capi/secrets.ts";
import { aCluster, anCapiCluster, NOW } from "../cluster/testing.ts";
import { ANNOTATION_CA_REVISION, ANNOTATION_CAPI_UID, ANNOTATION_LOST_CA } from "../tenant/access.ts";
import { issueClientCertificate } from "../tenant/sign.ts";
import { createTestCaches } from "../testing-caches.ts";
import { findWoken } from "../testing-changes.ts";
import { findOutdated, observeAccess } from "./observe.ts";
import { reconcileAccess } from "./reconcile.ts";
import { composeAccessStatus } from "./status.ts";
import { watchAccesses } from "./watch.ts";

const USER = "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01";
const CAPI_UID = "uid-capi";
const REVISION = "uid-ca/1";
const HOUR_MS = 3_600_000;
const at = (hours: number) => new Date(NOW.getTime() + hours * HOUR_MS).toISOString();
const [own, former] = await Promise.all([makeAuthority("kubernetes"), makeAuthority("kubernetes")]);
const certificateOf = async (ca: typeof own) => {
  const [notBefore, notAfter] = [new Date(at(-1)), new Date(at(1))];
  const { certificate } = await issueClientCertificate({
    ca,
    commonName: USER,
    organization: "group",
    notBefore,
    notAfter,
  });
  return certificate;
};
const [valid, outdated] = await Promise.all([certificateOf(own), certificateOf(former)]);
const issued = { certificate: valid };

function anAccess(
  metadata: object = {},
  status: ClusterAccessStatus = issued,
  subject = USER,
): ClusterAccess {
  const cluster = aCluster().metadata;
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: {
      name: "mine",
      namespace: cluster.namespace ?? "",
      uid: "mine",
      generation: 1,
      creationTimestamp: at(-1),
      finalizers: [FINALIZER],
      labels: { [LABEL_ID]: createId(), [LABEL_ORG_ID]: "x" },
      annotations: { [ANNOTATION_IDENTITY]: "known mine" },
      ...metadata,
    },
    spec: { clusterName: cluster.name, subject, ttlSeconds: 7200, csr: "csr" },
    status,
  };
}

interface Place {
  capi?: "there" | "starting" | "gone";
  cluster?: Partial<ObjectMeta> | "gone";
  admin?: Record<string, string>;
  isReady?: boolean;
  hasCa?: boolean;
}

const ADMIN = { [ANNOTATION_CAPI_UID]: CAPI_UID, [ANNOTATION_CA_REVISION]: REVISION };

/** The caches with these accesses to a cluster that was ready, whose CA is `own`. */
function observe(
  accesses: ClusterAccess[],
  { capi = "there", cluster = {}, admin = ADMIN, isReady = true, hasCa = true }: Place = {},
) {
  const caches = createTestCaches();
  const demo = aCluster();
  const key = objectKey(demo);
  const { namespace = "", name } = demo.metadata;
  const status = { ...demo.status, ...(isReady && { firstReadyAt: at(-2) }) };
  const spec = { ...demo.spec, displayName: "Shop" };
  if (cluster !== "gone")
    caches.clusters.set({ ...demo, metadata: { ...demo.metadata, ...cluster }, spec, status });
  const object = anCapiCluster();
  const conditions = capi === "starting" ? [] : (object.status?.conditions ?? []);
  const metadata = { ...object.metadata, uid: CAPI_UID };
  if (capi !== "gone")
    caches.capiClusters.set({ ...object, metadata, status: { ...object.status, conditions } });
  const ofCa = { namespace, name: nameCaSecret(name), uid: "uid-ca", resourceVersion: "1" };
  if (hasCa) caches.clusterSecrets.set({ apiVersion: "v1", kind: "Secret", metadata: ofCa });
  const ofAdmin = { namespace, name: nameAdminSecret(name), annotations: admin };
  const data = { "ca.crt": own.certificate };
  caches.issuedCredentials.set({ apiVersion: "v1", kind: "Secret", metadata: ofAdmin, data });
  for (const access of accesses) caches.accesses.set(access);
  return { caches, key, decide: (access: ClusterAccess) => decide(caches, access) };
}

function decide(caches: ReturnType<typeof createTestCaches>, access: ClusterAccess) {
  const observed = observeAccess(caches, new Set(), objectKey(access));
  if (observed === undefined) throw new Error("there is no access");
  return reconcileAccess({ ...observed, organization: { kind: "known", id: "x" } }, NOW);
}

const revoked = (hours = -0.1) => ({ deletionTimestamp: at(hours) });
const LOST = { capi: "gone" } as const;
const NO_AUTHORITY = { hasCa: false } as const;
const NEVER_READY = { isReady: false, cluster: { labels: { [LABEL_ID]: createId() } } };
const ID = aCluster().metadata.labels?.[LABEL_ID] ?? "";

test.each<[string, ClusterAccess, Place, string]>([
  ["to a cluster that runs is taken away there", anAccess(revoked()), {}, "revoke there"],
  ["to a lost cluster waits for its return", anAccess(revoked()), LOST, "wait InfrastructureLost"],
  [
    "to a cluster whose control plane is not back waits for it",
    anAccess(revoked()),
    { capi: "starting" },
    "wait WaitingForControlPlane",
  ],
  [
    "to a cluster whose CA and kubeconfig are gone waits for one of them",
    anAccess(revoked()),
    NO_AUTHORITY,
    "wait InfrastructureLost",
  ],
  [
    "to a lost cluster, restored without its status, waits",
    anAccess({ ...revoked(), labels: { [LABEL_ID]: "0193a0f0-0000-7000-8000-0000000000e1" } }, {}),
    LOST,
    "wait InfrastructureLost",
  ],
  ["to a lost cluster, never issued, has no right", anAccess(revoked(), {}), LOST, "revoke"],
  ["whose cluster was never ready has none", anAccess(revoked()), { ...LOST, ...NEVER_READY }, "revoke"],
  ["whose cluster is gone has none", anAccess(revoked()), { ...LOST, cluster: "gone" }, "revoke"],
  ["whose cluster is deleted has none", anAccess(revoked()), { ...LOST, cluster: revoked() }, "revoke"],
  [
    "whose cluster is made anew has none",
    anAccess(revoked()),
    { ...LOST, cluster: { annotations: { [ANNOTATION_RECREATE]: ID } } },
    "revoke",
  ],
  [
    "whose cluster has the annotation of another id waits",
    anAccess(revoked()),
    { ...LOST, cluster: { annotations: { [ANNOTATION_RECREATE]: "other" } } },
    "wait InfrastructureLost",
  ],
  [
    "of a person, revoked before its end, waits beyond it: the tenant may have bound the person's name",
    anAccess({ ...revoked(-2), creationTimestamp: at(-3) }),
    LOST,
    "wait InfrastructureLost",
  ],
  ["that has ended has no right", anAccess({ ...revoked(0), creationTimestamp: at(-2) }), LOST, "revoke"],
  [
    "of no person waits to its end alone",
    anAccess({ ...revoked(-2), creationTimestamp: at(-3) }, issued, "ci"),
    LOST,
    "revoke",
  ],
])("a deleted access %s", (_, access, place, expected) => {
  const decision = observe([access], place).decide(access);
  const rest =
    decision.kind === "wait" ? decision.reason : "target" in decision && decision.target && "there";
  expect(`${decision.kind} ${rest ?? ""}`.trim()).toBe(expected);
});

test.each<[string, ClusterAccessStatus, Place, string]>([
  ["whose certificate the cluster's CA has signed is in force", issued, {}, "grant"],
  ["of the CA of an earlier cluster is refused", { certificate: outdated }, {}, "reject"],
  [
    "is not judged while the CA is lost",
    { certificate: outdated },
    { admin: { ...ADMIN, [ANNOTATION_CA_REVISION]: "x/1", [ANNOTATION_LOST_CA]: `${CAPI_UID} ${REVISION}` } },
    "grant",
  ],
  [
    "waits until the CA of a new cluster is known",
    issued,
    { admin: { ...ADMIN, [ANNOTATION_CAPI_UID]: "former" } },
    "wait",
  ],
  ["with a token is not judged", { tokenSecretName: "token" }, {}, "grant"],
])("an access %s", (_, status, place, expected) => {
  const access = anAccess({}, status);
  expect(observe([access], place).decide(access).kind).toBe(expected);
});

test("an access of an earlier cluster takes no place of another", () => {
  const accesses = Array.from({ length: 10 }, (_, index) =>
    anAccess(
      { name: `old-${index}`, uid: `old-${index}`, creationTimestamp: at(-1.5) },
      { certificate: outdated },
    ),
  );
  const mine = anAccess({}, {});
  const { caches, key, decide: decideOn } = observe([...accesses, mine]);
  expect(decideOn(mine).kind).toBe("grant");
  expect([...accesses, mine].filter(findOutdated(caches, key))).toEqual(accesses);
});

test.each<[string, ClusterAccess, Place]>([
  ["InfrastructureLost", anAccess(revoked()), LOST],
  ["InfrastructureLost", anAccess(revoked()), NO_AUTHORITY],
  ["InfrastructureLost", anAccess({}, {}), NO_AUTHORITY],
  ["WaitingForControlPlane", anAccess(revoked()), { capi: "starting" }],
  ["WaitingForControlPlane", anAccess({}, {}), { ...NO_AUTHORITY, isReady: false }],
  ["WaitingForControlPlane", anAccess(), { admin: { [ANNOTATION_CAPI_UID]: "former" } }],
  ["ClusterRecreated", anAccess({}, { certificate: outdated }), {}],
])(
  "the reason %s has a sentence for kubectl and one for REST, and is in the status",
  (reason, access, place) => {
    const decision = observe([access], place).decide(access);
    const problem = decision.kind === "reject" ? decision.problem : decision;
    if (!("message" in problem)) throw new Error("there is no message");
    // It says that they are lost, and not that its API server is not up.
    const saysLost = problem.message.startsWith(
      "The certificate authority of Shop and its kubeconfig are lost",
    );
    expect(saysLost).toBe(place === NO_AUTHORITY);
    const kind = decision.kind === "reject" ? "rejected" : "waiting";
    const status = composeAccessStatus(access, { ...problem, kind }, NOW);
    expect(status?.conditions?.[0]).toMatchObject({ type: "Ready", status: "False", reason });
    for (const text of [problem.message, toRestWords(problem.message)]) {
      expect(text).toMatch(/^[A-Za-z].*[.]$/);
      expect(findTenantTextFault(text)).toBeUndefined();
      expect(text).toMatch(/\bShop\b/);
    }
    expect(toRestWords(problem.message)).not.toMatch(/\bspec\.|label|annotation|kubectl|namespace/i);
  },
);

test("the accesses to a cluster are looked at again when it is to be made anew, and when its CA is another one", () => {
  const { caches } = observe([anAccess()]);
  const [cluster] = caches.clusters.list();
  const [secret] = caches.issuedCredentials.list();
  if (cluster === undefined || secret === undefined) throw new Error("there is no cluster");
  const withAnnotations = <T extends { metadata: object }>(object: T, annotations: object): T => ({
    ...object,
    metadata: { ...object.metadata, annotations },
  });
  const ofCluster = (object: typeof cluster) =>
    findWoken(watchAccesses, caches, "clusters", { previous: cluster, object });
  const ofSecret = (object: typeof secret) =>
    findWoken(watchAccesses, caches, "issuedCredentials", { previous: secret, object });
  const key = objectKey(anAccess());
  expect(ofCluster(withAnnotations(cluster, { [ANNOTATION_RECREATE]: ID }))).toEqual([key]);
  expect(ofCluster(cluster)).toEqual([]);
  expect(ofSecret({ ...secret, data: { "ca.crt": former.certificate } })).toEqual([key]);
  expect(ofSecret(withAnnotations(secret, { ...ADMIN, [ANNOTATION_CAPI_UID]: "new" }))).toEqual([key]);
  expect(ofSecret(withAnnotations(secret, { ...ADMIN, other: "x" }))).toEqual([]);
});
