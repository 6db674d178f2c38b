import { expect, test } from "vitest";
import { findTenantTextFault } from "../../e2e/contract/seen/message-forms.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, findExpiry } from "../../shared/crd/cluster-access.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_REQUEST_ID,
  FINALIZER,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import { toRestWords } from "../../shared/crd/rest-words.ts";
import type { TenantEndpoint } from "../tenant/tenant.ts";
import type { ObservedAccess } from "./observe.ts";
import { MAX_LIVE_ACCESSES, reconcileAccess } from "./reconcile.ts";
import { composeAccessStatus } from "./status.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
/** At 12:00:00 and 26 hours before. */
const [FRESH_ID, OLD_ID] = [NOW.getTime(), NOW.getTime() - 26 * 3_600_000].map((ms) => {
  const digits = ms.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
}) as [string, string];
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString();

function anAccess(
  name = "mine",
  metadata: Partial<ClusterAccess["metadata"]> = {},
  status: ClusterAccess["status"] = {},
): ClusterAccess {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: {
      name,
      namespace: "org-x",
      uid: name,
      generation: 1,
      creationTimestamp: at(-60),
      finalizers: [FINALIZER],
      labels: { [LABEL_ID]: FRESH_ID, [LABEL_ORG_ID]: "x" },
      annotations: { [ANNOTATION_IDENTITY]: `known ${name}` },
      ...metadata,
    },
    spec: { clusterName: "blue", subject: "alice", ttlSeconds: 600, csr: "csr" },
    status,
  };
}

const newCluster = { metadata: { name: "blue" }, spec: { displayName: "Shop" } } as Cluster;
const cluster = { ...newCluster, status: { firstReadyAt: at(-600) } };
const suspendedCluster = { ...cluster, spec: { ...cluster.spec, suspend: true } };
const deletingCluster = { metadata: { name: "blue", deletionTimestamp: at(-1) } } as Cluster;
const issued = { certificate: "pem" };
const unmarked = { annotations: {} };

function observe(rest: Partial<ObservedAccess> = {}): ObservedAccess {
  return {
    access: anAccess(),
    organization: { kind: "known", id: "x" },
    olderDuplicate: undefined,
    cluster,
    candidateId: "new",
    tenant: {} as TenantEndpoint,
    hasCapi: true,
    lacksAccessSource: false,
    isCaUnsettled: false,
    nameTaken: false,
    siblings: [],
    isIssuing: () => false,
    isOutdated: () => false,
    ...rest,
  };
}

const others = (count: number, rest: Partial<ClusterAccess["metadata"]> = {}, status = {}) =>
  Array.from({ length: count }, (_, index) => anAccess(`other-${index}`, rest, status));
const older = { creationTimestamp: at(-120) };
const younger = { creationTimestamp: at(-10) };
const restored = { labels: { [LABEL_ID]: OLD_ID, [LABEL_ORG_ID]: "x" } };
const confirmedAs = (name: string) => ({ annotations: { [ANNOTATION_IDENTITY]: `known ${name}` } });

test.each<[string, Partial<ObservedAccess>, string]>([
  ["one that can be issued is granted", {}, "grant"],
  ["one to a suspended cluster waits", { cluster: suspendedCluster }, "wait"],
  [
    "an issued one to a suspended cluster stays as it is",
    { cluster: suspendedCluster, access: anAccess("mine", unmarked, issued) },
    "ignore",
  ],
  [
    "a deleted one is revoked in a suspended cluster as well",
    { cluster: suspendedCluster, access: anAccess("mine", { deletionTimestamp: at(-1) }, issued) },
    "revoke",
  ],
  [
    "one that was issued is granted again: the binding may be lost",
    { access: anAccess("mine", unmarked, issued) },
    "grant",
  ],
  [
    "one that was issued and is back from a backup waits for its confirmation",
    { access: anAccess("mine", { ...restored, ...confirmedAs("other") }, issued) },
    "wait",
  ],
  [
    "one that was issued, is back from a backup and has its confirmation is granted",
    { access: anAccess("mine", { ...restored, ...confirmedAs("mine") }, issued) },
    "grant",
  ],
  ["one 599 s old is granted", { access: anAccess("mine", { creationTimestamp: at(-599) }) }, "grant"],
  ["an expired one is deleted", { access: anAccess("mine", { creationTimestamp: at(-600) }) }, "delete"],
  [
    "one whose cluster is being deleted is deleted",
    { access: anAccess("mine", unmarked, issued), cluster: deletingCluster },
    "delete",
  ],
  ["one without our labels gets them first", { access: anAccess("mine", { labels: {} }) }, "label"],
  ["one without a cluster waits for it", { cluster: undefined }, "wait"],
  ["one without a control plane waits for it", { tenant: undefined }, "wait"],
  ["one to a cluster that was never ready, which is not billed, waits", { cluster: newCluster }, "wait"],
  ["one to it that was issued stays", { cluster: newCluster, access: anAccess("m", {}, issued) }, "grant"],
  ["one that is deleted is revoked", { access: anAccess("mine", { deletionTimestamp: at(-1) }) }, "revoke"],
  [
    "one that is deleted and expired is revoked",
    { access: anAccess("mine", { deletionTimestamp: at(-1), creationTimestamp: at(-900) }) },
    "revoke",
  ],
  [
    "one without our finalizer is ignored",
    { access: anAccess("mine", { deletionTimestamp: at(-1), finalizers: [] }) },
    "ignore",
  ],
  ["a copy is rejected", { olderDuplicate: "org-x/original" }, "reject"],
  ["one without an organization is rejected", { organization: { kind: "unknown" } }, "reject"],
  ["the eleventh is rejected", { siblings: others(MAX_LIVE_ACCESSES, older) }, "reject"],
  ["the tenth is granted", { siblings: others(MAX_LIVE_ACCESSES - 1, older) }, "grant"],
  ["younger ones do not count", { siblings: others(20, younger) }, "grant"],
  [
    "younger ones that are being issued count",
    { siblings: others(10, younger), isIssuing: ({ metadata }) => metadata.name !== "mine" },
    "reject",
  ],
  [
    "one that is being issued makes no room for an older one",
    { siblings: others(10, older), isIssuing: ({ metadata }) => metadata.name !== "other-0" },
    "grant",
  ],
  ["younger ones that were issued count", { siblings: others(10, younger, issued) }, "reject"],
  ["expired ones do not count", { siblings: others(20, { creationTimestamp: at(-700) }) }, "grant"],
  [
    "ones being deleted do not count",
    { siblings: others(20, { ...older, deletionTimestamp: at(-1) }) },
    "grant",
  ],
])("%s", (_name, rest, kind) => {
  expect(reconcileAccess(observe(rest), NOW).kind).toBe(kind);
});

const USER = "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01";
const byRest = { [ANNOTATION_REQUEST_ID]: "request-1" };
const marked = (value: string) => ({ [ANNOTATION_IDENTITY]: value });
const created = { creationTimestamp: at(-5) };
const old = (annotations: Record<string, string>) => ({ labels: { [LABEL_ID]: OLD_ID }, annotations });

test.each<[string, string, Partial<ClusterAccess["metadata"]>, string]>([
  [
    "REST's own",
    USER,
    { labels: { [LABEL_ID]: FRESH_ID }, annotations: { ...byRest, ...marked("new") } },
    "label",
  ],
  [
    "that of REST, from a backup before it was confirmed",
    USER,
    old(marked("new")),
    "wait WaitingForIdentity",
  ],
  ["a user by kubectl", USER, { labels: {}, annotations: {} }, "wait WaitingForIdentity"],
  ["a user in capitals", USER.toUpperCase(), { labels: {}, annotations: {} }, "wait WaitingForIdentity"],
  ["an e-mail address", "jane@example.com", { labels: {}, annotations: {} }, "wait WaitingForIdentity"],
  ["a member's address", "jane@example.com", { labels: {}, annotations: marked("known mine") }, "label"],
  [
    "a member's address, with the confirmation of another object",
    "jane@example.com",
    { labels: {}, annotations: marked("known other") },
    "wait WaitingForIdentity",
  ],
  [
    "a member's address, with a confirmation that names no object",
    "jane@example.com",
    { labels: {}, annotations: marked("known") },
    "wait WaitingForIdentity",
  ],
  [
    "no member's address",
    "jane@example.com",
    { labels: {}, annotations: marked("refused") },
    "reject AccessRefused",
  ],
  ["a name of no person", "ci", { labels: {}, annotations: {} }, "label"],
  ["a name of no person, refused", "ci", { annotations: marked("refused") }, "reject AccessRefused"],
  ["a user, from a backup", USER, old(byRest), "wait WaitingForIdentity"],
  ["a name of no person, from a backup", "ci", old({}), "wait WaitingForIdentity"],
  [
    "a user, from a backup, who is a member",
    USER,
    { labels: { [LABEL_ID]: OLD_ID }, annotations: { ...byRest, ...marked("known mine") } },
    "label",
  ],
])("an access that names %s is decided", (_name, subject, metadata, decided) => {
  const access = anAccess("mine", { ...created, ...metadata });
  const decision = reconcileAccess(
    observe({ access: { ...access, spec: { ...access.spec, subject } } }),
    NOW,
  );
  expect(decision).toHaveProperty("expiresAt", new Date(at(595)));
  const reason =
    "reason" in decision ? decision.reason : "problem" in decision ? decision.problem.reason : "";
  expect(`${decision.kind} ${reason}`.trim()).toBe(decided);
});

test("the confirmation for an access names its object before it is issued, and what may not be issued takes no place of another", () => {
  for (const metadata of [{ labels: {}, annotations: {} }, { annotations: marked("new") }]) {
    const decision = reconcileAccess(observe({ access: anAccess("mine", metadata) }), NOW);
    expect(decision).toMatchObject({ kind: "label", metadata: { annotations: marked("known mine") } });
  }
  const earlier = anAccess("mine", { annotations: marked("new") }, issued);
  expect(reconcileAccess(observe({ access: earlier }), NOW)).toMatchObject({
    kind: "label",
    metadata: { dropAnnotations: [ANNOTATION_IDENTITY] },
  });
  const refused = others(MAX_LIVE_ACCESSES, { ...older, annotations: marked("refused") });
  expect(reconcileAccess(observe({ siblings: refused }), NOW).kind).toBe("grant");
});

test("an access expires its lifetime after its creation, whatever happens to its status", () => {
  expect(findExpiry(anAccess("mine", {}, {})).toISOString()).toBe(at(540));
});

test("an access from a backup ends when its record says so", () => {
  const ending = (end: string) => anAccess("mine", { annotations: marked(`known mine ${end}`) });
  expect(findExpiry(ending(at(30))).toISOString()).toBe(at(30));
  expect(findExpiry(ending(at(541))).toISOString()).toBe(at(540));
  const other = anAccess("mine", { annotations: marked(`known other ${at(30)}`) });
  expect(findExpiry(other).toISOString()).toBe(at(540));
});

test("an access ends at its notAfter, where that comes before the end of its lifetime", () => {
  const ending = (notAfter: string) => ({ ...anAccess(), spec: { ...anAccess().spec, notAfter } });
  expect(findExpiry(ending(at(30))).toISOString()).toBe(at(30));
  expect(findExpiry(ending(at(541))).toISOString()).toBe(at(540));
  expect(reconcileAccess(observe({ access: ending(at(30)) }), NOW)).toMatchObject({
    kind: "grant",
    expiresAt: new Date(at(30)),
  });
  expect(reconcileAccess(observe({ access: ending(at(0)) }), NOW).kind).toBe("delete");
});

test("a status keeps what was issued through a wait, and is written only when it changes", () => {
  const granted = { kind: "granted", certificate: "pem", expiresAt: new Date(at(540)) } as const;
  const first = composeAccessStatus(anAccess(), granted, NOW);
  expect(first).toMatchObject({ certificate: "pem", expiresAt: "2026-03-01T12:09:00Z" });
  expect(composeAccessStatus(anAccess("mine", {}, first), granted, new Date(at(30)))).toBeUndefined();
  const waiting = { kind: "waiting", reason: "ControlPlaneUnavailable", message: "it is silent" } as const;
  const second = composeAccessStatus(anAccess("mine", {}, first), waiting, NOW);
  expect(second).toMatchObject({ certificate: "pem" });
  expect(second?.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
    "Ready False",
    "Reconciling True",
    "Stalled False",
  ]);
});

test.each<[string, Partial<ObservedAccess>]>([
  ["UnknownOrganization", { organization: { kind: "unknown" } }],
  ["DuplicateID", { olderDuplicate: "other/mine" }],
  ["AccessRefused", { access: anAccess("mine", { annotations: marked("refused") }) }],
  ["WaitingForIdentity", { access: anAccess("mine", { ...restored, ...confirmedAs("other") }) }],
  ["WaitingForCluster", { cluster: undefined }],
  ["WaitingForCluster", { nameTaken: true }],
  ["WaitingForCluster", { cluster: newCluster }],
  ["TooManyAccesses", { siblings: others(MAX_LIVE_ACCESSES, older) }],
  ["WaitingForControlPlane", { tenant: undefined }],
  ["ClusterSuspended", { cluster: suspendedCluster }],
])("the reason %s has a sentence for kubectl and one for REST", (reason, rest) => {
  const decision = reconcileAccess(observe(rest), NOW);
  const problem = decision.kind === "reject" ? decision.problem : decision;
  expect(problem).toMatchObject({ reason });
  const message = "message" in problem ? problem.message : "";
  for (const text of [message, toRestWords(message)]) {
    expect(text).toMatch(/^[A-Za-z].*[.]$/);
    expect(findTenantTextFault(text)).toBeUndefined();
  }
  expect(message.includes("blue")).toBe(reason === "WaitingForCluster" && !rest.cluster);
  expect(toRestWords(message)).not.toMatch(/\bspec\.|label|annotation|kubectl|namespace|cloud\.marina\.dev/i);
});
