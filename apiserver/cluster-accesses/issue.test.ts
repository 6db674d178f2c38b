import { expect, test } from "vitest";
import { confirmationOf } from "../../shared/crd/cluster-access.ts";
import { createId } from "../../shared/program/id.ts";
import { toAccessObject } from "./issue.ts";

test.each([-3600, -61, 0, 61, 3600])(
  "an access by REST needs no confirmation of the records, with the clock of Kubernetes %i s ahead",
  (seconds) => {
    const now = new Date();
    const object = toAccessObject(
      { principal: { kind: "user", userId: createId() }, requestId: "r" },
      { id: createId(), orgId: createId(), namespace: "org-x", name: "blue", displayName: "Blue" },
      { id: createId(), ttlSeconds: 600, notAfter: now },
      "csr",
    );
    const creationTimestamp = new Date(now.getTime() + seconds * 1000).toISOString();
    expect(confirmationOf({ ...object, metadata: { ...object.metadata, creationTimestamp } })).toBe(
      "confirmed",
    );
  },
);
