import { expect, test } from "vitest";
import { toRestWords } from "./rest-words.ts";

test.each([
  ["set spec.version to 1.35.1.", "set k8s_version to 1.35.1."],
  ["minNodes must not be greater than desiredNodes", "min_nodes must not be greater than desired_nodes"],
  ["One node exceeds maxVCPUs and maxMemoryGB.", "One node exceeds max_vcpus and max_memory_gb."],
  ["spec.network.authorizedCIDRs is wrong", "authorized_cidrs is wrong"],
  [
    "ask the platform's operator to look at the NodePool org-0193a1f2/web-abcde.",
    "ask the platform's operator to look at the node pool web-abcde.",
  ],
  ["Machine org-0193a1f2/web-1 has not joined: no image.", "machine web-1 has not joined: no image."],
  [
    "look at the Cluster API Cluster org-0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11/first-abcde.",
    "look at the cluster first-abcde.",
  ],
  [
    "Create them again; or, to delete these nodes, set the annotation cloud.marina.dev/x=true of the Cluster.",
    "Create them again, or ask the platform's operator to delete these nodes.",
  ],
  ["1 node pool of first without a NodePool: web.", "1 node pool of first without a node pool: web."],
  [
    "There is no cluster first in this namespace yet; create it.",
    "There is no cluster first in this organization yet; create it.",
  ],
  [
    "Nodes run 1.34.2; they follow the cluster to 1.35.1.",
    "Nodes run 1.34.2; they follow the cluster to 1.35.1.",
  ],
])("%j is said to REST clients as %j", (message, words) => {
  expect(toRestWords(message)).toBe(words);
});
