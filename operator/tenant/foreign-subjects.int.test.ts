import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { type ForeignBinding, isOfAccess, removeEndedSubjects } from "./foreign-subjects.ts";
import { createTenantClient, type TenantClient } from "./tenant-client.ts";

let api: TestApi;
let tenant: TenantClient;
let stop: AbortController;
let close: () => Promise<unknown>;
beforeEach(async () => {
  api = await openTestApi();
  const transport = createTransport({ connection: loadConnection(process.env.MARINA_TEST_KUBECONFIG) });
  close = () => transport.close();
  stop = new AbortController();
  tenant = createTenantClient(transport, { signal: stop.signal, mayWrite: () => true });
});
afterEach(async () => {
  await close();
  await api.close();
});

test("a right that has ended is taken out of every binding of the tenant's, and a binding of nothing else is deleted", async () => {
  const id = randomUUID();
  const [group, user] = [`cloud.marina.dev:access:${id}`, `user-${id}`];
  const bind = (kind: string, name: string, ...subjects: string[]) =>
    api.kubectl("create", kind, name, "--clusterrole=view", ...subjects, `--namespace=${api.namespace}`);
  const read = async (kind: string, name: string): Promise<ForeignBinding["subjects"] | "gone"> => {
    const text = await api.kubectl(
      "get",
      kind,
      name,
      "--ignore-not-found",
      "--output=json",
      `--namespace=${api.namespace}`,
    );
    return text === "" ? "gone" : JSON.parse(text).subjects;
  };
  const names = async (kind: string, name: string) => {
    const subjects = await read(kind, name);
    return subjects === "gone" ? "gone" : subjects?.map((subject) => subject.name);
  };
  const [alone, mixed] = [`alone-${id}`, `mixed-${id}`];
  await bind("clusterrolebinding", alone, `--group=${group}`);
  await bind("clusterrolebinding", mixed, `--user=${user}`, "--user=other");
  await bind("rolebinding", alone, `--user=${user}`, `--group=${group}`);
  await bind("rolebinding", mixed, `--group=${group}`, "--serviceaccount=default:default");
  try {
    await removeEndedSubjects(tenant, () => isOfAccess(group, user));
    expect(await names("clusterrolebinding", alone)).toBe("gone");
    expect(await names("clusterrolebinding", mixed)).toEqual(["other"]);
    expect(await names("rolebinding", alone)).toBe("gone");
    expect(await names("rolebinding", mixed)).toEqual(["default"]);
  } finally {
    await api.kubectl("delete", "clusterrolebinding", alone, mixed, "--ignore-not-found");
  }
});

test("a tenant that binds a right again and again is told", async () => {
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "again", resourceVersion: "1" },
    subjects: [{ kind: "Group", name: "ended" }],
  };
  const hostile: TenantClient = {
    ...tenant,
    list: async ({ kind }) => (kind.namespaced ? [] : [binding]) as never,
    send: async () => ({ metadata: { resourceVersion: "2" } }) as never,
    delete: async () => undefined,
  };
  await expect(removeEndedSubjects(hostile, () => isOfAccess("ended", undefined))).rejects.toThrow(
    "bindings keep naming rights that have ended",
  );
});

test("a binding that cannot be changed keeps no other right, and one is deleted as it was left alone", async () => {
  const bindings = ["refused", "emptied"].map((name) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name, resourceVersion: "1" },
    subjects: [{ kind: "Group", name: "ended" }],
  }));
  const deleted: unknown[] = [];
  const policed: TenantClient = {
    ...tenant,
    list: async ({ kind }) => (kind.namespaced ? [] : bindings) as never,
    send: async (_method, path) => {
      if (path.endsWith("/refused"))
        throw new KubeError({ status: 403, reason: "Forbidden", kubeMessage: "no" });
      return { metadata: { resourceVersion: "2" } } as never;
    },
    delete: async (_kind, name, _namespace, resourceVersion) => void deleted.push([name, resourceVersion]),
  };
  await expect(removeEndedSubjects(policed, () => isOfAccess("ended", undefined))).rejects.toThrow("no");
  expect(deleted).toEqual([["emptied", "2"]]);
});
