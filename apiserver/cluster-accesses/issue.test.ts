import { expect, test } from "vitest";
import { confirmationOf } from "../../shared/crd/cluster-access.ts";
import { createId } from "../../shared/program/id.ts";
import { toAccessObject } from "./issue.ts";

test.each([
  [-3600, "unconfirmed"],
  [-590, "confirmed"],
  [0, "confirmed"],
  [590, "confirmed"],
  [3600, "unconfirmed"],
])(
  "an access by REST waits for no confirmation of the records while the clock of Kubernetes is within ten minutes: %i s ahead is %s",
  (seconds, expected) => {
    const now = new Date();
    const object = toAccessObject(
      { principal: { kind: "user", userId: createId() }, requestId: "r" },
      { id: createId(), orgId: createId(), namespace: "org-x", name: "blue", displayName: "Blue" },
      { id: createId(), ttlSeconds: 600, notAfter: now },
      "csr",
    );
    const creationTimestamp = new Date(now.getTime() + seconds * 1000).toISOString();
    expect(confirmationOf({ ...object, metadata: { ...object.metadata, creationTimestamp } })).toBe(expected);
  },
);
