import { beforeAll, expect, test } from "vitest";
import { kubectl, readStack } from "../stack/testing.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);

const OWN = "clusters.cloud.marina.dev";
const POOLS = "nodepools.cloud.marina.dev";
const ACCESSES = "clusteraccesses.cloud.marina.dev";
const INVENTORIES = "storageinventories.cloud.marina.dev";
const WRITES = ["create", "update", "patch", "delete"];
const ALL = ["get", "list", "watch", ...WRITES];

let namespace: string;
let otherNamespace: string;

/** Two organizations; the pipeline is bound in the first one's Namespace, the engineer everywhere. */
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
    {
      ...base,
      kind: "ClusterRoleBinding",
      metadata: { name: "chart-roles-engineer" },
      roleRef: roleRef("marina-engineer"),
      subjects: [user("chart-roles:engineer")],
    },
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
  return () => kubectl(["delete", "clusterrolebinding", "chart-roles-engineer"]);
});

async function createNamespace(name: string): Promise<string> {
  const { id } = expectStatus(201, await alice.call("createOrganization", { body: { name } }));
  return `org-${id}`;
}

/** The verbs that the API server allows the user on the resource. */
async function readAllowed(user: string, resource: string, place: string): Promise<string[]> {
  const [full = "", subresource] = resource.split("/");
  const [plural = "", ...group] = full.split(".");
  const target = { namespace: place, group: group.join("."), resource: plural, subresource };
  const reviews = ALL.map((verb) => {
    const spec = { user: `chart-roles:${user}`, resourceAttributes: { ...target, verb } };
    return JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec });
  });
  const args = ["create", "-f", "-", "-o", 'jsonpath={.status.allowed}{"\\n"}'];
  const { stdout } = await kubectl(args, { stdin: reviews.join("\n---\n") });
  const answers = stdout.trim().split("\n");
  expect(answers).toHaveLength(ALL.length);
  return ALL.filter((_verb, index) => answers[index] === "true");
}

const READS = ["get", "list", "watch"];

test.each([
  ["pipeline", OWN, ALL],
  ["pipeline", POOLS, ALL],
  ["pipeline", `${OWN}/status`, []],
  ["pipeline", ACCESSES, []],
  ["pipeline", INVENTORIES, []],
  ["pipeline", "secrets", []],
  ["engineer", OWN, ALL],
  ["engineer", INVENTORIES, ALL],
  ["engineer", "machines.cluster.x-k8s.io", READS],
  ["engineer", `${OWN}/status`, []],
  ["engineer", "secrets", []],
  ["admin", OWN, []],
  ["admin", ACCESSES, []],
])("the role of the %s allows on %s: %j", async (user, resource, verbs) => {
  expect(await readAllowed(user, resource, namespace)).toEqual(verbs);
});

test("the role of a pipeline reaches no other organization", async () => {
  expect(await readAllowed("pipeline", OWN, otherNamespace)).toEqual([]);
});
