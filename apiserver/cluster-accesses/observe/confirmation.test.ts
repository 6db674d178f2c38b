import { expect, test } from "vitest";
import type { ClusterAccess } from "../../../shared/crd/cluster-access.ts";
import { LABEL_ID, LABEL_ORG_ID, LABEL_USER_ID } from "../../../shared/crd/names.ts";
import { decideAccessConfirmation, type KnownOfAccess } from "./confirmation.ts";

const [ORG, OTHER_ORG, USER, OTHER_USER, ID] = [1, 2, 3, 4, 5].map(
  (digit) => `00000000-0000-7000-8000-00000000000${digit}`,
) as [string, string, string, string, string];
const NOW = new Date("2026-03-01T12:00:00Z");
const PLACE = { namespace: "org-x", clusterName: "blue" };

function accessOf(subject: string, labels: Record<string, string> = {}): ClusterAccess {
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "ClusterAccess",
    metadata: { name: "mine", namespace: PLACE.namespace, labels },
    spec: { clusterName: PLACE.clusterName, subject, ttlSeconds: 600, csr: "csr" },
  };
}

const ofUser = (userId = USER, orgId = ORG) => ({ [LABEL_USER_ID]: userId, [LABEL_ORG_ID]: orgId });
const restored = { ...ofUser(), [LABEL_ID]: ID };
const record = (subject: string, seconds = 60, rest = {}) => ({
  ...PLACE,
  subject,
  expiresAt: new Date(NOW.getTime() + seconds * 1000),
  ...rest,
});

test.each<[string, ClusterAccess, Partial<KnownOfAccess>, string]>([
  ["a member by e-mail address", accessOf("jane@example.com"), {}, "known"],
  ["the address of no member", accessOf("jane@example.com"), { mayHold: false }, "refused"],
  ["a member by id, without the labels that revoke it", accessOf(USER), {}, "refused"],
  ["another member than its labels", accessOf(USER, ofUser(OTHER_USER)), {}, "refused"],
  ["a member with labels of another organization", accessOf(USER, ofUser(USER, OTHER_ORG)), {}, "refused"],
  ["a member with its labels", accessOf(USER, ofUser()), {}, "known"],
  ["a former member with its labels", accessOf(USER, ofUser()), { mayHold: false }, "refused"],
  ["a backup of what is recorded", accessOf(USER, restored), { recorded: record(USER) }, "known"],
  ["a backup of what is not", accessOf(USER, restored), {}, "refused"],
  [
    "a backup of what was revoked",
    accessOf(USER, restored),
    { recorded: record(USER), isRevoked: true },
    "refused",
  ],
  ["a backup of what has expired", accessOf(USER, restored), { recorded: record(USER, 0) }, "refused"],
  [
    "a backup to another cluster",
    accessOf(USER, restored),
    { recorded: record(USER, 60, { clusterName: "red" }) },
    "refused",
  ],
  [
    "a backup in another namespace",
    accessOf(USER, restored),
    { recorded: record(USER, 60, { namespace: "org-y" }) },
    "refused",
  ],
  ["the id of another's access", accessOf(USER, restored), { recorded: record(OTHER_USER) }, "refused"],
  [
    "a backup for a name of no person",
    accessOf("ci", { [LABEL_ID]: ID }),
    { recorded: record("ci") },
    "known",
  ],
])("an access by kubectl that names %s", (_name, access, known, result) => {
  const facts = { orgId: ORG, recorded: undefined, isRevoked: false, mayHold: true, ...known };
  expect(decideAccessConfirmation(access, facts, NOW)).toBe(result);
});
