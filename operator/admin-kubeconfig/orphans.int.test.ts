import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { nameAdminSecret, nameTokenSecret } from "../../shared/crd/admin-secret.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { FINALIZER, LABEL_ID, LABEL_ORG_ID } from "../../shared/crd/names.ts";
import { clusterAccessSpec, idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { namespaceKind, roleBindingKind, roleKind, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { composeSecretRole, composeSecretRoleBinding } from "../tenant/secret-role.ts";

const TEST = { fieldManager: "test" };
const READER = { namespace: "marina-system", name: "marina-apiserver" };
const CREDENTIAL_KINDS = [secretKind, roleKind, roleBindingKind] as unknown as Kind<KubeObject>[];

let api: TestApi;
let namespace: string;
beforeEach(async () => {
  api = await openTestApi();
  const organization = randomUUID();
  namespace = `org-${organization}`;
  const labels = { [LABEL_ORG_ID]: organization };
  await api.client.create(namespaceKind, { metadata: { name: namespace, labels } }, TEST);
});
afterEach(async () => {
  await api.client.delete(namespaceKind, undefined, namespace);
  await api.close();
});

/**
 * A Secret as the operator writes it, and the right to read it, which the operator of the stack may have given already.
 */
async function createCredential(name: string): Promise<void> {
  const metadata = { name, namespace };
  const options = { ...TEST, force: true };
  await api.client.apply(secretKind, { metadata, data: { value: "" } }, options);
  await api.client.apply(roleKind, composeSecretRole(metadata), options);
  await api.client.apply(roleBindingKind, composeSecretRoleBinding(metadata, READER), options);
}

async function findCredential(name: string): Promise<string[]> {
  const found = await Promise.all(
    CREDENTIAL_KINDS.map(async (kind) =>
      (await api.client.get(kind, namespace, name)) ? [kind.plural] : [],
    ),
  );
  return found.flat();
}

/** Until the operator of the stack holds it. */
async function waitUntilHeld(kind: Kind<KubeObject>, name: string): Promise<KubeObject> {
  return waitFor("its finalizer", async () => {
    const object = await api.client.get(kind, namespace, name);
    return object?.metadata.finalizers?.includes(FINALIZER) === true ? object : undefined;
  });
}

async function deleteOrphaning(kind: Kind<KubeObject>, name: string): Promise<void> {
  const resource = `${kind.plural}.cloud.marina.dev`;
  await api.kubectl("--namespace", namespace, "delete", resource, name, "--cascade=orphan", "--wait=false");
  await waitFor("it to be gone", async () => (await api.client.get(kind, namespace, name)) === undefined);
}

test("a cluster deleted with --cascade=orphan leaves nothing of its admin kubeconfig", async () => {
  const metadata = { name: "demo", namespace };
  await api.client.create(clusterKind, { metadata, spec: idleClusterSpec }, TEST);
  const kind = clusterKind as unknown as Kind<KubeObject>;
  await waitUntilHeld(kind, "demo");
  await createCredential(nameAdminSecret("demo"));
  await deleteOrphaning(kind, "demo");
  expect(await findCredential(nameAdminSecret("demo"))).toEqual([]);
});

test("an access deleted with --cascade=orphan leaves nothing of its token", async () => {
  const metadata = { name: "mine", namespace, finalizers: [FINALIZER], labels: { [LABEL_ID]: randomUUID() } };
  const spec = { ...clusterAccessSpec, subject: "someone" };
  await api.client.create(clusterAccessKind, { metadata, spec }, TEST);
  const secret = nameTokenSecret(metadata.labels[LABEL_ID] ?? "");
  await createCredential(secret);
  await deleteOrphaning(clusterAccessKind as unknown as Kind<KubeObject>, "mine");
  expect(await findCredential(secret)).toEqual([]);
});
