import { expect, test } from "vitest";
import { findTenantTextFault } from "../../e2e/contract/seen/message-forms.ts";
import { explain, explainRejection } from "./explain.ts";
import { toTenantWords } from "./tenant-words.ts";

test.each([
  [
    "MachineDeployment demo-web-x7k2p: Scaling up from 0 to 1 replicas",
    "node pool: Scaling up from 0 to 1 replicas",
  ],
  ['MachineSets "demo-web-x7k2p", "demo-db-abcde" are not ready', "node pools are not ready"],
  ["KubeadmControlPlane org-0193a1f2/demo-x7k2p is paused", "control plane is paused"],
  ["Machine org-0193a1f2/demo-web-abc: Drain not completed", "Machine demo-web-abc: Drain not completed"],
  ['Machine "team-a/demo-web-abc" is gone', 'Machine "demo-web-abc" is gone'],
  ["Waiting for no capacity in zone a; finalizers hold it", "Waiting for no capacity in zone a"],
  ["no machine (uid: 7205b06a-a404-49fb-bc96-844d27d421e3) left", "no machine left"],
  ['secrets "demo-ca" not found in namespace "org-0193a1f2"', 'secrets "demo-ca" not found'],
  ["the namespace org-0193a1f2-7c3e is full", "the organization is full"],
  [
    'Operation cannot be fulfilled on machines "x": the object has been modified; please apply your changes to the latest version and try again',
    "",
  ],
  [
    'Operation cannot be fulfilled on localclusters.local.marina.dev "x": uid mismatch: the provided object specified uid, and no existing object was found',
    "",
  ],
  ["nodes/proxy is read and/or written", "nodes/proxy is read and/or written"],
])("%j is to tenants %j", (text, words) => {
  expect(toTenantWords(text)).toBe(words);
  expect(findTenantTextFault(toTenantWords(text))).toBeUndefined();
});

test("a condition of which nothing concerns tenants is its reason", () => {
  const condition = {
    type: "Deleting",
    status: "True" as const,
    reason: "WaitingForMachines",
    lastTransitionTime: "",
  };
  expect(explain({ ...condition, message: "* MachineSet a-b: finalizers left" })).toBe("WaitingForMachines");
  expect(explain({ ...condition, message: "* Machine a-b: 1 Pod left\n* finalizers left" })).toBe(
    "Machine a-b: 1 Pod left",
  );
});

test("a rejection is explained without the objects of Cluster API", () => {
  const message =
    'admission webhook "x" denied the request: MachineDeployment.cluster.x-k8s.io "demo-web-x7k2p" is forbidden: exceeded quota: none';
  expect(explainRejection(message)).toBe("exceeded quota: none");
});
