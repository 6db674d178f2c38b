import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import {
  type CollectedBinding,
  type CollectedRole,
  createAdminCollector,
  isAdminRole,
  type RoleRule,
} from "./foreign-admins.ts";

const RBAC = ["rbac.authorization.k8s.io"];
const ALL = ["*"];
const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

test.each<[string, RoleRule, boolean]>([
  ["everything", { verbs: ALL, apiGroups: ALL, resources: ALL }, true],
  ["reading everything", { verbs: ["get", "list"], apiGroups: ALL, resources: ALL }, false],
  ["everything of one API", { verbs: ALL, apiGroups: ["apps"], resources: ALL }, false],
  ["everything, verb by verb", { verbs: VERBS, apiGroups: ALL, resources: ALL }, true],
  ["all verbs but one", { verbs: VERBS.slice(1), apiGroups: ALL, resources: ALL }, false],
  [
    "everything of one name",
    { verbs: VERBS, apiGroups: ALL, resources: ALL, resourceNames: ["shop"] },
    false,
  ],
  ["escalating in namespaces", { verbs: ["escalate"], apiGroups: RBAC, resources: ["roles"] }, true],
  ["every URL", { verbs: ALL }, false],
  ["escalating", { verbs: ["escalate"], apiGroups: RBAC, resources: ["clusterroles"] }, true],
  ["binding any role", { verbs: ["bind"], apiGroups: RBAC, resources: ALL }, true],
  [
    "binding one role",
    { verbs: ["bind"], apiGroups: RBAC, resources: ["clusterroles"], resourceNames: ["view"] },
    false,
  ],
  [
    "binding cluster-admin",
    { verbs: ["bind"], apiGroups: RBAC, resources: ["clusterroles"], resourceNames: ["cluster-admin"] },
    true,
  ],
  [
    "impersonating accounts",
    { verbs: ["impersonate"], apiGroups: [""], resources: ["serviceaccounts"] },
    true,
  ],
  [
    "impersonating one user",
    { verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: ["ann"] },
    false,
  ],
])("a role of %s makes an administrator: %o", (_, rule, isAdmin) => {
  expect(isAdminRole([{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }, rule])).toBe(isAdmin);
});

test("rules that make an administrator together are one role of an administrator", () => {
  const [reading, writing] = [VERBS.slice(0, 3), VERBS.slice(3)];
  const rules = [reading, writing].map((verbs) => ({ verbs, apiGroups: ALL, resources: ALL }));
  expect(isAdminRole(rules)).toBe(true);
});

const EVERYTHING: RoleRule[] = [{ verbs: ALL, apiGroups: ALL, resources: ALL }];
const ROLES: CollectedRole[] = [
  { kind: "ClusterRole", metadata: { name: "cluster-admin" }, rules: EVERYTHING },
  { kind: "ClusterRole", metadata: { name: "view" }, rules: null },
  { kind: "Role", metadata: { name: "ruler" }, rules: EVERYTHING },
];

function findAdmins(...bindings: CollectedBinding[]) {
  const collector = createAdminCollector();
  for (const role of ROLES) collector.addRole(role);
  for (const binding of bindings) collector.addBinding(binding);
  return collector.result();
}

function bindingOf(
  name: string,
  {
    role = "cluster-admin",
    kind = "ClusterRole",
    namespace,
    subjects,
  }: Partial<Record<"role" | "kind" | "namespace", string>> & Pick<CollectedBinding, "subjects"> = {},
): CollectedBinding {
  const ann = [{ kind: "User", name: "ann" }];
  return {
    metadata: { name, namespace },
    roleRef: { kind, name: role },
    subjects: subjects ?? ann,
  };
}

const MASTERS = [{ kind: "Group", name: "system:masters" }];
const ACCOUNT = [{ kind: "ServiceAccount", name: "ci", namespace: "default" }];

test.each<[string, CollectedBinding, string[]]>([
  ["a person", bindingOf("ann"), ["ann"]],
  ["a ServiceAccount", bindingOf("ci", { subjects: ACCOUNT }), ["ci"]],
  ["none by a role of little", bindingOf("ann", { role: "view" }), []],
  ["none by a binding without subjects", bindingOf("empty", { subjects: [] }), []],
  ["none of Marina's", bindingOf("cloud-marina-dev-admin-1"), []],
  ["none of Kubernetes itself", bindingOf("cluster-admin", { subjects: MASTERS }), []],
  ["whoever is added to a binding of Kubernetes", bindingOf("cluster-admin"), ["cluster-admin"]],
  ["the one who rules kube-system", bindingOf("ann", { namespace: "kube-system" }), ["kube-system/ann"]],
  [
    "the one who rules kube-system by a role of its own",
    bindingOf("ann", { kind: "Role", role: "ruler", namespace: "kube-system" }),
    ["kube-system/ann"],
  ],
  ["none that rules another namespace", bindingOf("ann", { namespace: "shop" }), []],
  [
    "none by the name of a role in another namespace",
    bindingOf("ann", { kind: "Role", role: "ruler", namespace: "shop" }),
    [],
  ],
  ["none by the name of a role of another kind", bindingOf("ann", { role: "ruler" }), []],
])("the administrators that Marina did not make: %s", (_, binding, names) => {
  expect(findAdmins(binding)).toEqual({ count: names.length, names });
});

test("all are counted, and twenty named, in names of bounded length", () => {
  const found = findAdmins(
    ...Array.from({ length: 30 }, (_, index) => bindingOf(`${index}-${"x".repeat(300)}`)),
  );
  expect(found.count).toBe(30);
  expect(found.names.map((name) => name.length)).toEqual(Array.from({ length: 20 }, () => 253));
});

test.each([
  [4_999, ["last"]],
  [5_000, ["first", "reader", "last", "kube-system/last"]],
])("after %i roles of administrators none is hidden by their number", (others, hidden) => {
  const collector = createAdminCollector();
  const addRole = (name: string, rules = EVERYTHING) =>
    collector.addRole({ kind: "ClusterRole", metadata: { name }, rules });
  for (let index = 0; index < others; index += 1) addRole(`a-${index}`);
  addRole("last");
  addRole("reader", []);
  for (const name of ["first", "reader", "last"]) collector.addBinding(bindingOf(name, { role: name }));
  collector.addBinding(bindingOf("last", { role: "last", namespace: "shop" }));
  collector.addBinding(bindingOf("last", { kind: "Role", role: "last", namespace: "kube-system" }));
  collector.addBinding(bindingOf("masters", { role: "a-0", subjects: [] }));
  expect(collector.result()).toEqual({ count: hidden.length, names: hidden });
});

/** As it is read from a response: a string of its own. */
const longName = (index: number): string => JSON.parse(`"${`${index}-`.padEnd(1_000_000, "x")}"`);

test("a role is found by its whole name, however long it is", () => {
  const collector = createAdminCollector();
  collector.addRole({ kind: "ClusterRole", metadata: { name: longName(1) }, rules: EVERYTHING });
  collector.addBinding(bindingOf("ann", { role: longName(1) }));
  collector.addBinding(bindingOf("bob", { role: longName(2) }));
  collector.addBinding(bindingOf("eve", { role: longName(1).slice(0, 253) }));
  expect(collector.result()).toEqual({ count: 1, names: ["ann"] });
});

test("what is kept of names of a megabyte is small", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const measureBytes = () => {
    collectGarbage();
    const { used_heap_size, external_memory } = getHeapStatistics();
    return used_heap_size + external_memory;
  };
  const collector = createAdminCollector();
  const before = measureBytes();
  for (let index = 0; index < 20; index += 1) {
    collector.addRole({ kind: "ClusterRole", metadata: { name: longName(index) }, rules: EVERYTHING });
    collector.addBinding(bindingOf(longName(index), { role: longName(index) }));
  }
  expect(measureBytes() - before).toBeLessThan(2_000_000);
  expect(collector.result().count).toBe(20);
});
