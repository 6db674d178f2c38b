import { expect, test } from "vitest";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { NotAdmittedError } from "../tenant/admission.ts";
import { RequestError } from "../tenant/sign.ts";
import { SweepError, UnfinishedSweepError } from "../tenant/sweep.ts";
import type { AccessPart } from "../tenant/tenant-findings.ts";
import { composeFailure } from "./status.ts";

const access: ClusterAccess = {
  apiVersion: "cloud.marina.dev/v1",
  kind: "ClusterAccess",
  metadata: { name: "mine", namespace: "org-x", generation: 1 },
  spec: { clusterName: "blue", subject: "alice", ttlSeconds: 600, csr: "csr" },
};
const failed = { access, cluster: { metadata: { name: "blue" }, spec: { displayName: "Shop" } } as never };

const answer = (status: number, kubeMessage: string, reason = "Forbidden") =>
  new KubeError({ status, reason, kubeMessage });

const waits: [string, AccessPart, unknown, string, RegExp][] = [
  [
    "whose tenant's API refuses the binding with 403",
    "bindings",
    answer(403, "no bindings"),
    "BindingsFailed",
    /in Shop: no bindings\. It is retried/,
  ],
  [
    "whose tenant's API fails with 500",
    "bindings",
    answer(500, "etcd is gone"),
    "BindingsFailed",
    /in Shop: etcd is gone\. It is retried/,
  ],
  [
    "whose tenant's API does not respond",
    "bindings",
    answer(0, "ECONNREFUSED", "Unreachable"),
    "ControlPlaneUnavailable",
    /^The API server of Shop does not respond: ECONNREFUSED/,
  ],
  [
    "whose tenant's API has not read its roles yet",
    "bindings",
    answer(403, 'clusterrolebindings is forbidden: User "x" cannot get resource "clusterrolebindings"'),
    "ControlPlaneUnavailable",
    /does not respond/,
  ],
  [
    "whose tenant binds it again and again",
    "bindings",
    new SweepError("bindings keep naming it"),
    "BindingsFailed",
    /cannot be changed in Shop: bindings keep naming it\./,
  ],
  [
    "whose tenant has more bindings than are read at once",
    "bindings",
    new UnfinishedSweepError("there are more"),
    "BindingsFailed",
    /cannot be changed in Shop: there are more\./,
  ],
  [
    "whose holder is not admitted",
    "bindings",
    new NotAdmittedError("alice"),
    "NotAdmitted",
    /^The API server of Shop does not admit alice yet/,
  ],
  [
    "that cannot be issued",
    "kubeconfig",
    answer(403, "secrets demo-ca is forbidden"),
    "CredentialsFailed",
    /^The access to Shop cannot be issued\. It is retried automatically; if this lasts/,
  ],
  [
    "whose CA has no key",
    "kubeconfig",
    new Error("the CA or its key is missing"),
    "CredentialsFailed",
    /^The access to Shop cannot be issued\. It is retried automatically; if this lasts/,
  ],
];

test.each(waits)("an access %s says so, and is tried again", (_name, part, error, reason, message) => {
  const outcome = composeFailure(failed, part, error);
  expect(outcome).toEqual({ kind: "waiting", reason, message: expect.stringMatching(message) });
});

test("an access whose request must not be signed is rejected", () => {
  const outcome = composeFailure(failed, "kubeconfig", new RequestError("The key is weak."));
  expect(outcome).toMatchObject({ kind: "rejected", reason: "InvalidRequest" });
});

test("an attempt that ends with the process says nothing", () => {
  expect(composeFailure(failed, "bindings", answer(0, "", "Aborted"))).toBeUndefined();
});
