import { createReadStream, existsSync, globSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { AUDIT_LOG } from "../../platform/stack/management-cluster.ts";
import { readAccessControl } from "../../platform/stack/program-identities.ts";
import { readStack } from "../../platform/stack/testing.ts";
import {
  type AuditEvent,
  describeRight,
  expandRoles,
  findUnused,
  readUses,
  type Use,
} from "../../testing/rights.ts";
import { readSeen } from "./seen.ts";

const AUTOSCALER = "a cluster autoscaler has it, and a grant cannot exceed the rights of who grants";
const STUCK = "an answer to machines that Cluster API left behind, which the fault tests provoke";
const ENDED = "for what is left of deleted organizations, whose job no story waits for";
const ORPHANS = "for what has lost its owner, which no story provokes";
const REMOVED = "asked live once an inventory has been gone for 7 days, which no story waits for";
const ADD_ONS = "for the add-ons of classes, which an extended story installs";
const ADMISSION = "asked for by the admission plugin OwnerReferencesPermissionEnforcement alone";

/** Rights that stories need not use, with the reason why the chart gives them. */
const NEED_NOT_BE_USED: Record<string, string> = {
  "ClusterRole marina-apiserver: delete namespaces": ENDED,
  "ClusterRole marina-apiserver: delete storageinventories.cloud.marina.dev": ENDED,
  "ClusterRole marina-operator: update clusters/finalizers.cloud.marina.dev": ADMISSION,
  "ClusterRole marina-operator: get storageinventories.cloud.marina.dev": REMOVED,
  "ClusterRole marina-operator: delete secrets": ORPHANS,
  "ClusterRole marina-operator: get clusters.cluster.x-k8s.io": STUCK,
  "ClusterRole marina-operator: patch machinedeployments.cluster.x-k8s.io": STUCK,
  "ClusterRole marina-operator: delete machinedeployments.cluster.x-k8s.io": STUCK,
  "ClusterRole marina-operator: patch machinesets.cluster.x-k8s.io": STUCK,
  "ClusterRole marina-operator: delete machinesets.cluster.x-k8s.io": STUCK,
  "ClusterRole marina-operator: patch machines.cluster.x-k8s.io": STUCK,
  "ClusterRole marina-operator: delete machines.cluster.x-k8s.io": STUCK,
  ...namesOf(ADD_ONS, ["create", "patch", "delete"], ["clusterresourcesets.addons"]),
  ...namesOf(AUTOSCALER, ["get"], ["machinedeployments", "machinesets", "machines"]),
  ...namesOf(AUTOSCALER, ["update"], ["machines"]),
  ...namesOf(AUTOSCALER, ["get", "list", "watch"], ["machinepools", "*.infrastructure"]),
  ...namesOf(
    AUTOSCALER,
    ["get", "update", "patch"],
    ["machinedeployments/scale", "machinepools/scale", "machinesets/scale"],
  ),
};

/** The reason by each of the operator's rights to resources of Cluster API. */
function namesOf(reason: string, verbs: string[], resources: string[]): Record<string, string> {
  const names = resources.flatMap((resource) =>
    verbs.map((verb) => `ClusterRole marina-operator: ${verb} ${resource}.cluster.x-k8s.io`),
  );
  return Object.fromEntries(names.map((name) => [name, reason]));
}

const root = join(import.meta.dirname, "..", "..", "..");

/** Every right that a request of the API server or the operator used, once. */
async function readLog(auditLog: string): Promise<Use[]> {
  const uses = new Map<string, Use>();
  for await (const line of createInterface({ input: createReadStream(auditLog) })) {
    // The last line may be written at this moment.
    if (!line.endsWith("}")) continue;
    const event: AuditEvent = JSON.parse(line);
    for (const use of readUses(event)) {
      // The name matters for rights on ConfigMaps alone: without this there would be one use for each object.
      if (use.resource !== "configmaps") delete use.name;
      uses.set(JSON.stringify(use), use);
    }
  }
  return [...uses.values()];
}

test("the stories use every right that the chart gives to the programs", async (context) => {
  const stack = readStack();
  const auditLog = join(dirname(stack.logs), AUDIT_LOG);
  context.skip(!existsSync(auditLog), "this stack was started without an audit log");
  const begun = readSeen("file");
  const left = globSync("e2e/stories/**/*.test.ts", { cwd: root, exclude: ["**/*.extended.test.ts"] }).filter(
    (file) => !begun.has(join(root, file)),
  );
  context.skip(left.length > 0, `only a part of the stories ran: ${left.length} files did not`);

  const rights = expandRoles(readAccessControl()).filter(
    ({ role }) => role.endsWith(" marina-apiserver") || role.endsWith(" marina-operator"),
  );
  const unused = findUnused(rights, await readLog(auditLog)).map(describeRight);
  expect(unused.filter((right) => NEED_NOT_BE_USED[right] === undefined)).toEqual([]);
  const names = new Set(rights.map(describeRight));
  expect(Object.keys(NEED_NOT_BE_USED).filter((right) => !names.has(right))).toEqual([]);
});
