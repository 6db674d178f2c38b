import { expect, test } from "vitest";
import { findImageUses, findPushedBlobs } from "./notification.ts";

const orgId = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
const digest = `sha256:${"ab".repeat(32)}`;
const target = {
  mediaType: "application/vnd.oci.image.manifest.v1+json",
  digest,
  repository: `org-${orgId}/web`,
  tag: "1",
  size: 500,
};
const use = { orgId, digest, repository: "web", isPushed: true };

test.each([
  ["a push under a tag", { action: "push", target }, [use]],
  ["a push without a tag", { action: "push", target: { ...target, tag: "" } }, [{ ...use, isPushed: false }]],
  ["a pull", { action: "pull", target }, [{ ...use, isPushed: false }]],
  [
    "an index",
    { action: "push", target: { ...target, mediaType: "application/vnd.oci.image.index.v1+json" } },
    [use],
  ],
  ["a blob", { action: "push", target: { ...target, mediaType: "application/octet-stream" } }, []],
  ["a deletion", { action: "delete", target }, []],
  ["a repository of no organization", { action: "push", target: { ...target, repository: "web" } }, []],
  ["a name that can be none", { action: "push", target: { ...target, repository: `org-${orgId}/../x` } }, []],
  ["no digest", { action: "push", target: { ...target, digest: "sha256:1" } }, []],
])("what a notification of %s tells", (_what, event, expected) => {
  expect(findImageUses({ events: [event] })).toEqual(expected);
});

test("the bytes of all that is pushed are counted for its organization, and nothing else", () => {
  const other = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12";
  const blob = { ...target, mediaType: "application/octet-stream", tag: "", size: 7 };
  const events = [
    { action: "push", target },
    { id: "1", action: "push", target: blob },
    { action: "push", target: { ...blob, repository: `org-${other}/web`, size: 3 } },
    { action: "push", target: { ...blob, repository: "web" } },
    { action: "pull", target: blob },
    { action: "mount", target: blob },
    { action: "delete", target },
  ];
  expect(findPushedBlobs({ events })).toEqual([
    { orgId, bytes: 500 },
    { orgId, eventId: "1", bytes: 7 },
    { orgId: other, bytes: 3 },
  ]);
});
