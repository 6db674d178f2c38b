import { expect, test } from "vitest";
import { parse } from "yaml";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { Secret } from "../../shared/kube/core-kinds.ts";
import { makeAuthority } from "../../shared/tenant/testing.ts";
import { CLUSTER_ID, START } from "../testing.ts";
import { aCluster } from "../testing-cluster.ts";
import {
  composeAdminSecret,
  composeLostCaPatch,
  composeRequest,
  composeRevisionPatch,
  decideIssue,
  isCaLost,
  isOfOtherCa,
  type KubeconfigBasis,
  trimCredential,
} from "./kubeconfig.ts";

const DAY_MS = 24 * 3600 * 1000;
const basis: KubeconfigBasis = {
  clusterId: CLUSTER_ID,
  credentialsGeneration: 0,
  server: "https://api.demo.test:6443",
  accessSource: "ca",
  capiUid: "uid-capi",
};
const MARK = "uid-ca/7";
const { cluster } = aCluster().observed;
const secret = composeAdminSecret(
  cluster,
  basis,
  { certificate: "ca", revision: MARK },
  {
    credential: { certificate: "certificate", key: "key" },
    expiresAt: new Date(START.getTime() + 7 * DAY_MS),
  },
  START,
);
const after = (days: number) => new Date(START.getTime() + days * DAY_MS);
const decideOn = (existing: Secret, { change = {}, authority = MARK, now = START } = {}) =>
  decideIssue(trimCredential(existing), { ...basis, ...change }, authority, now);
const annotate = (annotations: Record<string, string>) => ({
  ...secret,
  metadata: { ...secret.metadata, annotations: { ...secret.metadata.annotations, ...annotations } },
});

test("a kubeconfig is issued when there is none", () => {
  expect(decideIssue(undefined, basis, MARK, START)).toEqual({ kind: "issue" });
});

test("a fresh one is renewed at two thirds of its seven days", () => {
  expect(decideOn(secret)).toEqual({ kind: "keep", caCertificate: "ca", renewInMs: (14 / 3) * DAY_MS });
  expect(decideOn(secret, { now: after(4.6) }).kind).toBe("keep");
  expect(decideOn(secret, { now: after(4.7) }).kind).toBe("issue");
});

test.each([
  { what: "the credentials generation changed", change: { credentialsGeneration: 1 } },
  { what: "the endpoint changed", change: { server: "https://elsewhere.test:6443" } },
])("it is issued again when $what", ({ change }) => {
  expect(decideOn(secret, { change }).kind).toBe("issue");
});

const { "cloud.marina.dev/credential-authority": _, ...unrevisioned } = secret.metadata.annotations ?? {};
test.each([
  { what: "the CA's Secret is another version", existing: secret, authority: "uid-ca/8" },
  { what: "the CA's Secret was recreated", existing: secret, authority: "uid-new/7" },
  {
    what: "it was issued by an operator that set no revision",
    existing: { ...secret, metadata: { ...secret.metadata, annotations: unrevisioned } },
    authority: MARK,
  },
  {
    what: "Cluster API has another cluster of the name",
    existing: annotate({ "cloud.marina.dev/credential-engine": "uid-before" }),
    authority: MARK,
  },
])("its CA is compared, and nothing is issued yet, when $what", ({ existing, authority }) => {
  expect(decideOn(existing, { authority })).toMatchObject({ kind: "compare", caCertificate: "ca" });
  expect(decideOn(existing, { authority, now: after(4.7) }).kind).toBe("issue");
  expect(decideOn(existing, { authority, change: { credentialsGeneration: 1 } }).kind).toBe("issue");
});

test("a compared CA is recorded with its revision, unless the credential changed", () => {
  const metadata = { name: nameAdminSecret("demo"), resourceVersion: "12" };
  expect(composeRevisionPatch("uid-ca/8", basis, metadata)).toEqual({
    metadata: {
      resourceVersion: "12",
      annotations: {
        "cloud.marina.dev/credential-authority": "uid-ca/8",
        "cloud.marina.dev/credential-engine": "uid-capi",
        "cloud.marina.dev/lost-authority": null,
      },
    },
  });
  const noted = annotate({ "cloud.marina.dev/credential-authority": "uid-ca/8" });
  expect(decideOn(noted, { authority: "uid-ca/8" }).kind).toBe("keep");
});

test("it is issued again when its content was changed", () => {
  expect(decideOn({ ...secret, data: { value: "Zm9yZ2Vk" } }).kind).toBe("issue");
  const { value = "" } = secret.data ?? {};
  const otherKey = Buffer.from(value, "base64").toString().replace("a2V5", "b3Ro");
  expect(decideOn({ ...secret, data: { value: Buffer.from(otherKey).toString("base64") } }).kind).toBe(
    "issue",
  );
});

test("each generation of credentials has a group and a user of its own", () => {
  const { organization, commonName } = composeRequest({ ...basis, credentialsGeneration: 3 }, START);
  expect(organization).toBe(`cloud.marina.dev:admin:${CLUSTER_ID}:3`);
  expect(commonName).toBe(organization);
});

test("the Secret belongs to the Cluster and holds a kubeconfig with one context", () => {
  expect(secret.metadata).toMatchObject({
    name: nameAdminSecret("demo"),
    ownerReferences: [{ kind: "Cluster", name: "demo", uid: "uid-demo" }],
  });
  const kubeconfig: unknown = parse(Buffer.from(secret.data?.value ?? "", "base64").toString());
  expect(kubeconfig).toMatchObject({
    clusters: [{ cluster: { server: basis.server, "certificate-authority-data": "Y2E=" } }],
    users: [{ user: { "client-certificate-data": "Y2VydGlmaWNhdGU=", "client-key-data": "a2V5" } }],
    "current-context": "demo",
  });
});

test("a token stands in for a certificate, is renewed at two thirds of its own life, and when there is a CA's key at last", () => {
  const ofTenant: KubeconfigBasis = { ...basis, accessSource: "kubeconfig" };
  const issued = { credential: { token: "abc.def" }, expiresAt: after(3) };
  const written = composeAdminSecret(cluster, ofTenant, { certificate: "ca", revision: MARK }, issued, START);
  const text = Buffer.from(written.data?.value ?? "", "base64").toString();
  expect(parse(text).users).toEqual([{ name: "demo-admin", user: { token: "abc.def" } }]);
  const decide = (now: Date) => decideIssue(trimCredential(written), ofTenant, MARK, now);
  expect(decide(START)).toEqual({ kind: "keep", caCertificate: "ca", renewInMs: 2 * DAY_MS });
  expect(decide(after(2.1)).kind).toBe("issue");
  expect(decideOn(written).kind).toBe("issue");
});

const LOST = "cloud.marina.dev/lost-authority";
test.each<[string, Secret, string, string | undefined, boolean]>([
  ["is the one that was compared", secret, "uid-capi", "uid-ca/9", false],
  ["is gone", secret, "uid-capi", undefined, true],
  ["is another one, not compared yet", secret, "uid-capi", "uid-new/9", true],
  ["was found to be another", annotate({ [LOST]: "uid-capi uid-ca/9" }), "uid-capi", "uid-ca/9", true],
  [
    "is another one of another cluster",
    annotate({ [LOST]: "uid-capi uid-ca/9" }),
    "uid-new",
    "uid-new/9",
    false,
  ],
  [
    "was never compared",
    { ...secret, metadata: { ...secret.metadata, annotations: unrevisioned } },
    "uid-capi",
    "uid-ca/9",
    false,
  ],
])("a CA that %s: lost %s", (_, existing, capiUid, revision, isLost) => {
  expect(isCaLost(existing, capiUid, revision)).toBe(isLost);
});

test("a certificate of the same key, alone or among others, is of the same CA", async () => {
  const [own, other] = [await makeAuthority("own"), await makeAuthority("other")];
  const issuedBy = (certificate: string): Secret => ({
    ...secret,
    data: { ...secret.data, "ca.crt": certificate },
  });
  const isOther = (known: string, found: string) => isOfOtherCa(issuedBy(known), basis, found);
  expect(isOther(own.certificate, `${own.certificate}\n`)).toBe(false);
  expect(isOther(own.certificate, `${other.certificate}\n${own.certificate}`)).toBe(false);
  expect(isOther(own.certificate, other.certificate)).toBe(true);
  expect(isOther(own.certificate, "no certificate")).toBe(true);
});

test("another CA of the same cluster is known to be lost, and nothing is issued by it", () => {
  const existing = trimCredential(secret);
  expect(isOfOtherCa(existing, basis, "ca")).toBe(false);
  expect(isOfOtherCa(existing, basis, "other")).toBe(true);
  expect(isOfOtherCa(existing, { ...basis, capiUid: "uid-new" }, "other")).toBe(false);
  const patch = composeLostCaPatch("uid-ca/9", basis, secret.metadata);
  expect(patch).toMatchObject({ metadata: { annotations: { [LOST]: "uid-capi uid-ca/9" } } });
  expect(decideOn(annotate({ [LOST]: "uid-capi uid-ca/9" }), { authority: "uid-ca/9" }).kind).toBe("keep");
  expect(decideOn(annotate({ [LOST]: "uid-capi uid-ca/9" }), { authority: "uid-ca/10" }).kind).toBe(
    "compare",
  );
});
