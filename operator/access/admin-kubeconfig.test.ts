import { expect, test } from "vitest";
import { parse } from "yaml";
import { aCluster, CLUSTER_ID, START } from "../testing.ts";
import { composeAdminSecret, composeRequest, decideIssue, type KubeconfigBasis } from "./admin-kubeconfig.ts";
import { trimCredential } from "./trim.ts";

const DAY_MS = 24 * 3600 * 1000;
const basis: KubeconfigBasis = {
  clusterId: CLUSTER_ID,
  credentialsGeneration: 0,
  server: "https://api.demo.test:6443",
  caCertificate: "ca",
};
const { cluster } = aCluster().observed;
const secret = composeAdminSecret(cluster, basis, { certificate: "certificate", key: "key" }, START);
const after = (days: number) => new Date(START.getTime() + days * DAY_MS);

test("a kubeconfig is issued when there is none", () => {
  expect(decideIssue(undefined, basis, START)).toEqual({ issue: true });
});

test("a fresh one is renewed at two thirds of its seven days", () => {
  const decision = decideIssue(trimCredential(secret), basis, START);
  expect(decision).toEqual({ issue: false, renewInMs: (14 / 3) * DAY_MS });
  expect(decideIssue(trimCredential(secret), basis, after(4.6)).issue).toBe(false);
  expect(decideIssue(trimCredential(secret), basis, after(4.7)).issue).toBe(true);
});

test.each([
  { what: "the credentials were renewed", change: { credentialsGeneration: 1 } },
  { what: "the endpoint moved", change: { server: "https://elsewhere.test:6443" } },
  { what: "the CA is another", change: { caCertificate: "another" } },
])("it is issued anew when $what", ({ change }) => {
  expect(decideIssue(trimCredential(secret), { ...basis, ...change }, START).issue).toBe(true);
});

test("it is issued anew when somebody changed its content", () => {
  const forged = trimCredential({ ...secret, data: { value: "Zm9yZ2Vk" } });
  expect(decideIssue(forged, basis, START).issue).toBe(true);
});

test("each generation of credentials has a group of its own", () => {
  const { organization, commonName } = composeRequest({ ...basis, credentialsGeneration: 3 }, START);
  expect(organization).toBe(`cloud.marina.dev:admin:${CLUSTER_ID}:3`);
  expect(commonName).toBe(`cloud.marina.dev:admin:${CLUSTER_ID}`);
});

test("the Secret belongs to the Cluster and holds a kubeconfig with one context", () => {
  expect(secret.metadata).toMatchObject({
    name: "demo-admin-kubeconfig",
    ownerReferences: [{ kind: "Cluster", name: "demo", uid: "uid-demo" }],
  });
  const kubeconfig: unknown = parse(Buffer.from(secret.data?.value ?? "", "base64").toString());
  expect(kubeconfig).toMatchObject({
    clusters: [{ cluster: { server: basis.server, "certificate-authority-data": "Y2E=" } }],
    users: [{ user: { "client-certificate-data": "Y2VydGlmaWNhdGU=", "client-key-data": "a2V5" } }],
    "current-context": "demo",
  });
});
