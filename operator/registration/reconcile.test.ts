import { expect, test } from "vitest";
import type { Cluster, RegistrationPart } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID, LABEL_REGISTRATION } from "../../shared/crd/names.ts";
import type { Secret } from "../../shared/kube/core-kinds.ts";
import { trimCredential } from "../admin-kubeconfig/kubeconfig.ts";
import { CLUSTER_ID, NAMESPACE, START } from "../testing.ts";
import { type ObservedRegistration, OVERLAP_MS, reconcileRegistration, summarize } from "./reconcile.ts";
import { composeRegistrationSecret, findRegistered, placeSecret } from "./secret.ts";

const KEY = `${NAMESPACE}/demo`;
const LIFETIME_MS = 7 * 24 * 3_600_000;
const after = (ms: number) => new Date(START.getTime() + ms);
const BASIS = { clusterId: CLUSTER_ID, server: "https://demo.test", caCertificate: "CA\n" };
const CREDENTIAL = { certificate: "certificate", key: "key" };

const cluster: Cluster = {
  apiVersion: "cloud.marina.dev/v1",
  kind: "Cluster",
  metadata: { name: "demo", namespace: NAMESPACE, uid: "demo-uid", labels: { [LABEL_ID]: CLUSTER_ID } },
  spec: {
    displayName: "Shop",
    version: "1.34",
    publicEndpoint: true,
    registration: { fluxSecret: true, argoCDSecret: true },
  },
};

function accessOf(name: string, part: RegistrationPart, status: ClusterAccess["status"] = {}): ClusterAccess {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: {
      name,
      namespace: NAMESPACE,
      uid: name,
      labels: { [LABEL_REGISTRATION]: part },
      creationTimestamp: START.toISOString(),
    },
    spec: { clusterName: "demo", subject: "registration", ttlSeconds: LIFETIME_MS / 1000, csr: "csr" },
    status,
  };
}

const issued = { certificate: "certificate" };

function secretOf(part: RegistrationPart, access: string, owner = cluster): Secret {
  const place = placeSecret(part, KEY, "argocd");
  const expiresAt = after(LIFETIME_MS);
  const credential = { access, credential: CREDENTIAL, expiresAt };
  return composeRegistrationSecret(part, owner, place, BASIS, credential, START);
}

function observe(rest: Partial<ObservedRegistration> = {}): ObservedRegistration {
  return {
    key: KEY,
    cluster,
    basis: BASIS,
    allowed: new Set(["fluxSecret", "argoCDSecret"]),
    argoCDNamespace: "argocd",
    secrets: [],
    accesses: [],
    hasKeyOf: () => false,
    ...rest,
  };
}

const complete = {
  secrets: [trimCredential(secretOf("fluxSecret", "one")), trimCredential(secretOf("argoCDSecret", "two"))],
  accesses: [accessOf("one", "fluxSecret", issued), accessOf("two", "argoCDSecret", issued)],
};

/** What is decided for one part, in short. */
function decide(rest: Partial<ObservedRegistration>, now = START, part: RegistrationPart = "fluxSecret") {
  const decision = reconcileRegistration(observe(rest), now).find((one) => one.part === part);
  return {
    does: [
      ...(decision?.isRequest ? ["request"] : []),
      ...(decision?.publish === undefined ? [] : [`publish ${decision.publish.metadata.name}`]),
      ...(decision?.remove ?? []).map((step) =>
        step.verb === "delete" ? `delete ${step.kind.plural} ${step.name}` : step.verb,
      ),
    ],
    says: decision?.outcome && `${decision.outcome.status} ${decision.outcome.reason}`,
    message: decision?.outcome?.message,
    needsKey: decision?.needsKey,
    requeueAfterMs: decision?.requeueAfterMs,
  };
}

const FLUX = "demo.flux-kubeconfig.cloud.marina.dev";
const isKey = (access: string) => access === "next";
const next = accessOf("next", "fluxSecret");
const { registration: _, ...withoutWish } = cluster.spec;
const ended = { does: ["delete clusteraccesses one", `delete secrets ${FLUX}`], needsKey: false };
const waiting = { conditions: [] };
const stalled = {
  conditions: [
    {
      type: "Ready",
      status: "False" as const,
      reason: "TooManyAccesses",
      message: "",
      lastTransitionTime: "",
    },
    {
      type: "Stalled",
      status: "True" as const,
      reason: "TooManyAccesses",
      message: "",
      lastTransitionTime: "",
    },
  ],
};
const RENEW_MS = (LIFETIME_MS * 2) / 3;
const [flux, argoCD] = complete.secrets as [Secret, Secret];
const ofOther = trimCredential(
  secretOf("fluxSecret", "one", { ...cluster, metadata: { ...cluster.metadata, uid: "before-the-restore" } }),
);

test.each<[string, Partial<ObservedRegistration>, number, object]>([
  [
    "nothing yet: an access is asked for",
    {},
    0,
    { does: ["request"], says: "Unknown Issuing", needsKey: true },
  ],
  [
    "no control plane: it waits",
    { basis: undefined },
    0,
    { does: [], says: "Unknown WaitingForControlPlane", message: expect.stringMatching(/ of Shop is /) },
  ],
  [
    "an access that is not issued: it waits",
    { accesses: [{ ...next, status: waiting }], hasKeyOf: isKey },
    0,
    { does: [], says: "Unknown Issuing", needsKey: true },
  ],
  [
    "an access that is refused: it says so",
    { accesses: [{ ...next, status: stalled }], hasKeyOf: isKey },
    0,
    { does: [], says: "False TooManyAccesses", needsKey: true },
  ],
  [
    "an issued access: its credential is written",
    { accesses: [{ ...next, status: issued }], hasKeyOf: isKey },
    0,
    { does: ["publish next"], says: "True Registered", needsKey: true },
  ],
  [
    "an access of a process that has ended: another takes its place",
    { accesses: [{ ...next, status: issued }] },
    0,
    { does: ["request", "delete clusteraccesses next"] },
  ],
  [
    "all is there: nothing is done until it is renewed",
    complete,
    0,
    { does: [], needsKey: false, requeueAfterMs: RENEW_MS },
  ],
  [
    "two thirds of its life have passed: it is renewed and still counts",
    complete,
    RENEW_MS,
    { does: ["request"], says: "True Registered" },
  ],
  [
    "renewed a moment ago: the one before is still good",
    { ...complete, accesses: [...complete.accesses, accessOf("before", "fluxSecret", issued)] },
    1,
    { does: [], requeueAfterMs: OVERLAP_MS - 1 },
  ],
  [
    "renewed ten minutes ago: the one before is revoked",
    { ...complete, accesses: [...complete.accesses, accessOf("before", "fluxSecret", issued)] },
    OVERLAP_MS,
    { does: ["delete clusteraccesses before"] },
  ],
  [
    "the access was revoked: there is another",
    { ...complete, accesses: [] },
    0,
    { does: ["request"], says: "Unknown Issuing" },
  ],
  [
    "somebody changed the Secret: there is another credential",
    { ...complete, secrets: [{ ...flux, data: { value: "changed" } }] },
    0,
    { does: ["request"] },
  ],
  [
    "the address changed",
    { ...complete, basis: { ...BASIS, server: "https://new.test" } },
    0,
    { does: ["request"] },
  ],
  [
    "the CA changed",
    { ...complete, basis: { ...BASIS, caCertificate: "another" } },
    0,
    { does: ["request"] },
  ],
  [
    "the Secret is that of the Cluster before a restore",
    { ...complete, secrets: [ofOther] },
    0,
    { does: ["request", `delete secrets ${FLUX}`, "delete clusteraccesses one"] },
  ],
  ["it is not wanted any more", { ...complete, cluster: { ...cluster, spec: withoutWish } }, 0, ended],
  ["the cluster is gone", { ...complete, cluster: undefined }, 0, ended],
  [
    "the cluster is being deleted",
    {
      ...complete,
      cluster: { ...cluster, metadata: { ...cluster.metadata, deletionTimestamp: START.toISOString() } },
    },
    0,
    ended,
  ],
  [
    "the platform allows it no more",
    { ...complete, allowed: new Set(["argoCDSecret"]) },
    0,
    { ...ended, says: "False NotAllowed" },
  ],
])("%s", (_, rest, ms, expected) => {
  expect(decide(rest, after(ms))).toMatchObject(expected);
});

test("of the parts, one that fails does not hold up the other", () => {
  const rest = { ...complete, argoCDNamespace: undefined };
  expect(decide(rest)).toMatchObject({ does: [], says: "True Registered" });
  expect(decide(rest, START, "argoCDSecret")).toMatchObject({ says: "False ArgoCDNotConfigured" });
  const outcomes = reconcileRegistration(observe(rest), START).map(({ outcome }) => outcome);
  expect(summarize(outcomes)).toMatchObject({ status: "False", reason: "ArgoCDNotConfigured" });
});

test("a ClusterProfile is written once there is a credential, and deleted before its Secret", () => {
  const part = "clusterProfile";
  const wished = { ...cluster, spec: { ...withoutWish, registration: { clusterProfile: true } } };
  const allowed = new Set([part]);
  const decideProfile = (rest: Partial<ObservedRegistration>) =>
    reconcileRegistration(observe({ cluster: wished, allowed, ...rest }), START).find(
      (one) => one.part === part,
    );
  const there = {
    secrets: [trimCredential(secretOf(part, "one"))],
    accesses: [accessOf("one", part, issued)],
  };
  expect(decideProfile({})).toMatchObject({ profile: undefined, outcome: { reason: "Issuing" } });
  const { profile, outcome } = decideProfile(there) ?? {};
  expect(outcome?.message).toBe("clusterProfile: the ClusterProfile demo.");
  const [provider] = profile?.desired?.status?.accessProviders ?? [];
  const { name } = there.secrets[0]?.metadata ?? {};
  const extension = { namespace: NAMESPACE, name, key: "value" };
  expect(provider?.cluster.extensions).toEqual([{ name: "client.authentication.k8s.io/exec", extension }]);
  const ended = decideProfile({ ...there, cluster: { ...cluster, spec: withoutWish } });
  expect(ended).toMatchObject({ profile: { desired: undefined }, remove: [{ name: "one" }, { name }] });
  expect(ended?.profile).toBeDefined();
  // Nothing is asked of a cluster that has none.
  expect(decideProfile({ cluster: { ...cluster, spec: withoutWish } })?.profile).toBeUndefined();
});

test("a Secret names its cluster, and one of Argo CD outlives a restore of the Cluster", () => {
  expect([flux, argoCD].map(({ metadata }) => findRegistered(metadata))).toEqual([
    { part: "fluxSecret", key: KEY },
    { part: "argoCDSecret", key: KEY },
  ]);
  expect(argoCD.metadata.ownerReferences).toBeUndefined();
  const restored = { ...cluster, metadata: { ...cluster.metadata, uid: "after-the-restore" } };
  expect(decide({ ...complete, cluster: restored }, START, "argoCDSecret").does).toEqual([]);
});

test("a cluster Secret that Argo CD does not find any more, without its label, is not good", () => {
  const { "argocd.argoproj.io/secret-type": _label, ...labels } = argoCD.metadata.labels ?? {};
  const unlabelled = { ...argoCD, metadata: { ...argoCD.metadata, labels } };
  expect(decide({ ...complete, secrets: [flux, unlabelled] }, START, "argoCDSecret").does).toEqual([
    "request",
  ]);
});

test("no registration is wanted: the condition is not there", () => {
  expect(summarize([undefined, undefined])).toBeUndefined();
});
