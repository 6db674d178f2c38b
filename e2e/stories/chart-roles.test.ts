import { beforeAll, expect, test } from "vitest";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { REQUIRED_VALUES, renderChart } from "../testing/chart.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const transport = createTransport({
  connection: loadConnection(stack.kubeconfig),
  qps: 1000,
  burst: 1000,
});

const OWN = "clusters.cloud.marina.dev";
const POOLS = "nodepools.cloud.marina.dev";
const ACCESSES = "clusteraccesses.cloud.marina.dev";
const INVENTORIES = "storageinventories.cloud.marina.dev";
const WRITES = ["create", "update", "patch", "delete"];
const ALL = ["get", "list", "watch", ...WRITES];

let namespace: string;
let otherNamespace: string;

const EVERYWHERE = ["engineer", "viewer", "restore", "break-glass"];

/** Two organizations; the pipeline is bound in the first one's Namespace, the others everywhere. */
beforeAll(async () => {
  namespace = await createNamespace("Piped");
  otherNamespace = await createNamespace("Not piped");
  const base = { apiVersion: "rbac.authorization.k8s.io/v1" };
  const roleRef = (name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name });
  const user = (name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "User", name });
  const objects = [
    {
      ...base,
      kind: "RoleBinding",
      metadata: { namespace, name: "pipeline" },
      roleRef: roleRef("marina-gitops"),
      subjects: [user("chart-roles:pipeline")],
    },
    ...EVERYWHERE.map((role) => ({
      ...base,
      kind: "ClusterRoleBinding",
      metadata: { name: `chart-roles-${role}` },
      roleRef: roleRef(`marina-${role}`),
      subjects: [user(`chart-roles:${role}`)],
    })),
    // What a cluster's administrator usually gives to a person.
    {
      ...base,
      kind: "RoleBinding",
      metadata: { namespace, name: "admin" },
      roleRef: roleRef("admin"),
      subjects: [user("chart-roles:admin")],
    },
  ];
  const stdin = objects.map((object) => JSON.stringify(object)).join("\n---\n");
  await kubectl(["apply", "--server-side", "-f", "-"], { stdin });
  // The authorizer of the API server learns of a binding after it is written.
  await waitFor("every binding to count", async () => {
    const allowed = await Promise.all(
      ["pipeline", ...EVERYWHERE].map((user) => readAllowed(user, [OWN], namespace)),
    );
    return allowed.flat().every((verbs) => verbs.length > 0);
  });
  return async () => {
    await transport.close();
    await kubectl(["delete", "clusterrolebinding", ...EVERYWHERE.map((role) => `chart-roles-${role}`)]);
  };
});

async function createNamespace(name: string): Promise<string> {
  const { id } = expectStatus(201, await alice.call("createOrganization", { body: { name } }));
  // The request leaves it to a job when it takes long.
  await waitFor("the Namespace", () => kubectl(["get", "namespace", `org-${id}`]));
  return `org-${id}`;
}

/** The verbs that the API server allows the user on each of the resources. */
async function readAllowed(user: string, resources: readonly string[], place: string): Promise<string[][]> {
  return Promise.all(
    resources.map(async (resource) => {
      const [full = "", subresource] = resource.split("/");
      const [plural = "", ...group] = full.split(".");
      const target = { namespace: place, group: group.join("."), resource: plural, subresource };
      const answers = await Promise.all(
        ALL.map((verb) =>
          isAllowed({ user: `chart-roles:${user}`, resourceAttributes: { ...target, verb } }),
        ),
      );
      return ALL.filter((_verb, column) => answers[column] === true);
    }),
  );
}

/** The word of a SubjectAccessReview. */
async function isAllowed(spec: object): Promise<unknown> {
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const { status, body } = await transport.request({ method: "POST", path, body: review });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return (body as { status: { allowed: boolean } }).status.allowed;
}

const READS = ["get", "list", "watch"];
const SCALES = ["get", "update", "patch"];
const CHANGES = ["update", "patch", "delete"];
const RESERVED = [
  ...[
    "identity",
    "suspension",
    "control-plane",
    "credentials",
    "recovery",
    "hold",
    "finalizer",
    "registration",
  ].map((right) => `${OWN}/${right}`),
  ...["identity", "replacement", "finalizer"].map((right) => `${POOLS}/${right}`),
  ...["identity", "finalizer"].map((right) => `${ACCESSES}/${right}`),
  `${INVENTORIES}/identity`,
];

test.each([
  ["pipeline", OWN, ALL],
  ["pipeline", POOLS, ALL],
  ["pipeline", `${POOLS}/scale`, SCALES],
  ["pipeline", "events", READS],
  ["pipeline", "events.events.k8s.io", READS],
  ["pipeline", `${OWN}/status`, []],
  ["pipeline", ACCESSES, []],
  ["pipeline", INVENTORIES, []],
  ["pipeline", "secrets", []],
  ["engineer", OWN, ALL],
  ["engineer", ACCESSES, ALL],
  ["engineer", INVENTORIES, ALL],
  ["engineer", `${POOLS}/scale`, SCALES],
  ["engineer", "machines.cluster.x-k8s.io", READS],
  ["engineer", "machinehealthchecks.cluster.x-k8s.io", READS],
  ["engineer", "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io", READS],
  ["engineer", "anymachines.infrastructure.cluster.x-k8s.io", READS],
  ["engineer", "kubeadmconfigs.bootstrap.cluster.x-k8s.io", []],
  ["engineer", "events", READS],
  ["engineer", `${OWN}/status`, []],
  ["engineer", "secrets", []],
  ["viewer", OWN, READS],
  ["viewer", POOLS, READS],
  ["viewer", INVENTORIES, READS],
  ["viewer", "events.events.k8s.io", READS],
  ["viewer", ACCESSES, []],
  ["viewer", `${POOLS}/scale`, []],
  ["restore", OWN, [...READS, "create", "update", "patch"]],
  ["restore", "namespaces", [...READS, "create", "update", "patch"]],
  ["restore", `${OWN}/status`, []],
  ["break-glass", OWN, [...READS, ...CHANGES]],
  ["break-glass", ACCESSES, [...READS, ...CHANGES]],
  ["break-glass", `${OWN}/status`, []],
  ["admin", OWN, []],
  ["admin", ACCESSES, []],
])("the role of the %s allows on %s: %j", async (user, resource, verbs) => {
  expect(await readAllowed(user, [resource], namespace)).toEqual([verbs]);
});

/** Another test checks which attempts of shared/crd/reserved succeed with these rights. */
test.each([
  ["pipeline", []],
  ["viewer", []],
  [
    "engineer",
    [
      `${OWN}/suspension`,
      `${OWN}/control-plane`,
      `${OWN}/recovery`,
      `${OWN}/hold`,
      `${OWN}/registration`,
      `${POOLS}/replacement`,
    ],
  ],
  [
    "restore",
    [
      `${OWN}/identity`,
      `${OWN}/suspension`,
      `${OWN}/control-plane`,
      `${OWN}/hold`,
      `${OWN}/registration`,
      `${POOLS}/identity`,
      `${POOLS}/replacement`,
      `${ACCESSES}/identity`,
      `${INVENTORIES}/identity`,
    ],
  ],
  [
    "break-glass",
    [
      `${OWN}/suspension`,
      `${OWN}/control-plane`,
      `${OWN}/credentials`,
      `${OWN}/recovery`,
      `${OWN}/hold`,
      `${OWN}/registration`,
      `${OWN}/finalizer`,
      `${POOLS}/replacement`,
      `${POOLS}/finalizer`,
      `${ACCESSES}/finalizer`,
    ],
  ],
])("of what is reserved, the role of the %s may write %j", async (user, rights) => {
  const expected = RESERVED.map((right) => (rights.some((held) => held === right) ? ["update"] : []));
  expect(await readAllowed(user, RESERVED, namespace)).toEqual(expected);
});

test("kubectl tells who may suspend a cluster", async () => {
  const ask = ["auth", "can-i", "update", OWN, "--subresource=suspension", `--namespace=${namespace}`];
  expect((await kubectl([...ask, "--as=chart-roles:engineer"])).stdout.trim()).toBe("yes");
  await expect(kubectl([...ask, "--as=chart-roles:pipeline"])).rejects.toThrow(/auth can-i/);
});

test("no role for people impersonates, or grants what it has not", async () => {
  const { stdout } = await kubectl(["get", "clusterroles", "-o", "json"]);
  const roles: { metadata: { name: string }; rules: { verbs: string[]; resources?: string[] }[] }[] =
    JSON.parse(stdout).items;
  const people = roles.filter(({ metadata }) =>
    /^marina-(gitops|viewer|engineer|restore|break-glass)$/.test(metadata.name),
  );
  expect(people).toHaveLength(5);
  const verbs = new Set(people.flatMap(({ rules }) => rules.flatMap((rule) => rule.verbs)));
  expect([...verbs].sort()).toEqual([...ALL].sort());
});

test("the role of a pipeline reaches no other organization", async () => {
  expect(await readAllowed("pipeline", [OWN], otherNamespace)).toEqual([[]]);
});

test("the values restore.subjects bind the role of the backup tool, and the policies name this release's programs", async () => {
  const subjects = [{ kind: "ServiceAccount", name: "velero", namespace: "velero" }];
  const values = { ...REQUIRED_VALUES, restore: { subjects } };
  const { objects, text } = await renderChart("marina", "elsewhere", values);
  const bindings = objects.filter(
    ({ kind, metadata }) => kind === "ClusterRoleBinding" && metadata.name === "marina-restore",
  );
  expect(bindings).toMatchObject([{ roleRef: { name: "marina-restore" }, subjects }]);
  for (const program of ["apiserver", "operator"])
    expect(text).toContain(`'system:serviceaccount:elsewhere:marina-${program}'`);
  const unbound = await renderChart("marina", "elsewhere", REQUIRED_VALUES);
  expect(unbound.text).not.toMatch(/kind: ClusterRoleBinding\nmetadata:\n {2}name: marina-restore/);
});
