import { describe, expect, test } from "vitest";
import { ADVICE_BY_REASON, toRestWords } from "./rest-words.ts";

test.each([
  ["set spec.version to 1.35.1.", "set k8s_version to 1.35.1."],
  ["must not be greater than spec.desiredNodes", "must not be greater than desired_nodes"],
  ["One node exceeds spec.maxVCPUs and spec.maxMemoryGB.", "One node exceeds max_vcpus and max_memory_gb."],
  ["spec.network.authorizedCIDRs is wrong", "authorized_cidrs is wrong"],
  [
    "The objects are in org-0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11, which is older.",
    "The objects are in another place, which is older.",
  ],
  ["There is no cluster org-202611-x4k2p.", "There is no cluster org-202611-x4k2p."],
  [
    "spec.nodeLabels.app is long, spec.template.spec.x too",
    "node_labels.app is long, spec.template.spec.x too",
  ],
  ["A pool web of shop has minNodes as a label.", "A pool web of shop has minNodes as a label."],
])("%j is said to REST clients as %j", (message, words) => {
  expect(toRestWords(message)).toBe(words);
});

describe("advice of the reason", () => {
  test.each(Object.entries(ADVICE_BY_REASON))("%s is that of its reader", (_reason, { kubectl, rest }) => {
    expect(toRestWords(`The cluster shop waits. ${kubectl}`)).toBe(`The cluster shop waits. ${rest}`);
    expect(rest).not.toMatch(/annotation|label|spec\.|Cluster API|backup/);
  });
});
