import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { createTenantClient, type TenantClient } from "../../shared/tenant/tenant-client.ts";
import { type EndedRights, isOfAccess, nameAccessRights } from "./subjects.ts";
import { type ForeignBinding, PAGES_PER_CONNECTION, removeEndedSubjects, type Sweeps } from "./sweep.ts";

const ENDED = "cloud.marina.dev:access:ended";

const endedOf = (id: string, user?: string): EndedRights => ({
  isEnded: isOfAccess(nameAccessRights(id), user),
  isLeftOver: (name) => name === `cloud-marina-dev-access-${id}`,
  revision: "",
});

const sweep = (client: TenantClient, ended = endedOf("ended"), sweeps: Sweeps = new Map()) =>
  removeEndedSubjects(client, () => ended, { sweeps, key: "demo" });

let api: TestApi;
let tenant: TenantClient;
let stop: AbortController;
let close: () => Promise<unknown>;
beforeEach(async () => {
  api = await openTestApi();
  const transport = createTransport({ connection: loadConnection(process.env.MARINA_TEST_KUBECONFIG) });
  close = () => transport.close();
  stop = new AbortController();
  tenant = createTenantClient(transport, {
    signal: stop.signal,
    mayWrite: () => true,
    certificates: () => expect.unreachable(),
  });
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
    await sweep(tenant, endedOf(id, user));
    expect(await names("clusterrolebinding", alone)).toBe("gone");
    expect(await names("clusterrolebinding", mixed)).toEqual(["other"]);
    expect(await names("rolebinding", alone)).toBe("gone");
    expect(await names("rolebinding", mixed)).toEqual(["default"]);
  } finally {
    await api.kubectl("delete", "clusterrolebinding", alone, mixed, "--ignore-not-found");
  }
});

test("a right that a tenant binds again and again is reported", async () => {
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "again", resourceVersion: "1" },
    subjects: [{ kind: "Group", name: ENDED }],
  };
  const hostile: TenantClient = {
    ...tenant,
    listPage: async ({ kind }) => ({ items: (kind.namespaced ? [] : [binding]) as never, next: undefined }),
    send: async () => ({ metadata: { resourceVersion: "2" } }) as never,
    delete: async () => undefined,
  };
  await expect(sweep(hostile)).rejects.toMatchObject({
    kubeMessage: expect.stringContaining("bindings keep naming rights that have ended"),
    isUnavailable: false,
  });
});

test("a binding that cannot be changed keeps no other right, and one is deleted as it was left alone", async () => {
  const bindings = ["refused", "emptied"].map((name) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name, resourceVersion: "1" },
    subjects: [{ kind: "Group", name: ENDED }],
  }));
  const deleted: unknown[] = [];
  const policed: TenantClient = {
    ...tenant,
    listPage: async ({ kind }) => ({ items: (kind.namespaced ? [] : bindings) as never, next: undefined }),
    send: async (_method, path) => {
      if (path.endsWith("/refused"))
        throw new KubeError({ status: 403, reason: "Forbidden", kubeMessage: "no" });
      return { metadata: { resourceVersion: "2" } } as never;
    },
    delete: async (_kind, name, _namespace, resourceVersion) => void deleted.push([name, resourceVersion]),
  };
  await expect(sweep(policed)).rejects.toThrow("no");
  expect(deleted).toEqual([["emptied", "2"]]);
});

/** A tenant with so many pages of bindings that name nothing, and one that names an ended right in the last one. */
function createLargeTenant(pages: number) {
  const state = { bindings: [ENDED, "other"], calls: 0, expired: false };
  const large: TenantClient = {
    ...tenant,
    listPage: async ({ kind }, _selector, next = "1") => {
      state.calls += 1;
      if (state.expired && next !== "1") {
        state.expired = false;
        throw new KubeError({ status: 410, reason: "Expired", kubeMessage: "too old" });
      }
      if (kind.namespaced) return { items: [], next: undefined };
      const isLast = Number(next) === pages;
      const metadata = { name: "last", resourceVersion: "1" };
      const subjects = state.bindings.map((name) => ({ kind: "Group", name }));
      const roleRef = { kind: "ClusterRole", name: "view" };
      const items = isLast ? [{ apiVersion: "v1", kind: kind.kind, metadata, roleRef, subjects }] : [];
      return { items: items as never, next: isLast ? undefined : `${Number(next) + 1}` };
    },
    send: async (_method, _path, body) => {
      state.bindings = (body as { subjects: { name: string }[] }).subjects.map(({ name }) => name);
      return { metadata: { resourceVersion: "2" } } as never;
    },
  };
  return { state, large };
}

/** Runs a sweep as often as it takes, each time on a connection of its own; the messages of those that were not enough. */
async function sweepInParts(large: TenantClient, sweeps: Sweeps): Promise<string[]> {
  const messages: string[] = [];
  for (let connection = 0; connection < 20; connection += 1) {
    const error = await sweep(large, undefined, sweeps).catch((reason: Error) => reason);
    if (error === undefined) return messages;
    messages.push(error.message);
  }
  throw new Error("it never ends");
}

test("more bindings than one connection reads are read by the next ones, which say so until all are", async () => {
  const pages = 3 * PAGES_PER_CONNECTION - 1;
  const { state, large } = createLargeTenant(pages);
  const sweeps: Sweeps = new Map();
  const messages = await sweepInParts(large, sweeps);
  expect(state.bindings).toEqual(["other"]);
  expect(messages.length).toBeGreaterThan(2);
  expect(messages.filter((message) => !message.includes("more ClusterRoleBindings"))).toEqual([]);
  expect([state.calls, sweeps.size]).toEqual([2 * (pages + 1), 0]);
});

test("a list whose place is forgotten begins again", async () => {
  const { state, large } = createLargeTenant(PAGES_PER_CONNECTION + 1);
  const sweeps: Sweeps = new Map();
  await expect(sweep(large, undefined, sweeps)).rejects.toThrow("the reading goes on");
  state.expired = true;
  await sweepInParts(large, sweeps);
  expect(state.bindings).toEqual(["other"]);
});

test("a binding that is read again, for its list began again, is counted once", async () => {
  const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  const metadata = { name: "ann" };
  const roleRef = { kind: "ClusterRole", name: "everything" };
  const subjects = [{ kind: "User", name: "ann" }];
  const pages: Record<string, { items: object[]; next?: string }> = {
    ClusterRole: { items: [{ kind: "ClusterRole", metadata: { name: roleRef.name }, rules: [everything] }] },
    ClusterRoleBinding: { items: [{ metadata, roleRef, subjects }], next: "2" },
  };
  let isExpired = true;
  const client: TenantClient = {
    ...tenant,
    listPage: async ({ kind }, _selector, next) => {
      const { items = [], next: following } = (next === undefined && pages[kind.kind]) || {};
      if (next !== undefined && isExpired) {
        isExpired = false;
        throw new KubeError({ status: 410, reason: "Expired", kubeMessage: "too old" });
      }
      return { items: items as never, next: following };
    },
  };
  const found: unknown[] = [];
  await removeEndedSubjects(client, () => endedOf("ended"), {
    sweeps: new Map(),
    key: "demo",
    onAdmins: (admins) => found.push(admins),
  });
  expect(found).toEqual([{ count: 1, names: ["ann"] }]);
});

test("what was read before another right ended is read again", async () => {
  const read: string[] = [];
  let revision = "one";
  const client: TenantClient = {
    ...tenant,
    listPage: async ({ kind }) => {
      read.push(kind.kind);
      if (read.length === 2) revision = "two";
      return { items: [], next: undefined };
    },
  };
  const decide = () => ({ ...endedOf("ended"), revision });
  await removeEndedSubjects(client, decide, { sweeps: new Map(), key: "demo" });
  expect(read).toEqual(["ClusterRoleBinding", "RoleBinding", "ClusterRoleBinding", "RoleBinding"]);
});

test("a tenant's own bindings that make administrators are found, and none of Kubernetes itself", async () => {
  const id = randomUUID();
  const [ann, own] = [`ann-${id}`, "cloud-marina-dev-access-ended"];
  const bind = (name: string, subject: string) =>
    api.kubectl("create", "clusterrolebinding", name, "--clusterrole=cluster-admin", subject);
  await bind(ann, "--serviceaccount=default:ann");
  const ruler = `ruler-${id}`;
  const inSystem = "--namespace=kube-system";
  await api.kubectl("create", "role", ruler, "--verb=*", "--resource=*.*", inSystem);
  await api.kubectl("create", "rolebinding", ruler, `--role=${ruler}`, "--user=eve", inSystem);
  // Without the label of Marina's bindings.
  await bind(own, "--serviceaccount=kube-system:another");
  try {
    const found = await new Promise<string[]>((resolve, reject) => {
      const onAdmins = ({ names }: { names: string[] }) => resolve(names);
      removeEndedSubjects(tenant, () => endedOf("ended"), {
        sweeps: new Map(),
        key: "demo",
        onAdmins,
      }).catch(reject);
    });
    expect(found).toEqual(expect.arrayContaining([ann, `kube-system/${ruler}`]));
    expect(found.filter((name) => /^(system:|cluster-admin$)/.test(name))).toEqual([]);
    expect(await api.kubectl("get", "clusterrolebinding", own, "--ignore-not-found")).toBe("");
  } finally {
    await api.kubectl("delete", "clusterrolebinding", ann, own, "--ignore-not-found");
    await api.kubectl("delete", "role,rolebinding", ruler, inSystem);
  }
});
