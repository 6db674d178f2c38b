import { expect, test } from "vitest";
import { createLogger } from "../program/log.ts";
import type { TransportResponse } from "./call.ts";
import { readListableKinds, requireServerVersion } from "./discovery.ts";

const resource = (name: string, scope: string, verbs = ["get", "list"]) => ({
  resource: name,
  scope,
  verbs,
  responseKind: { group: "", version: "", kind: name.toUpperCase() },
});
const group = (name: string, ...versions: object[]) => ({ metadata: { name }, versions });

test("namespaced kinds that can be listed are found once, in the preferred version", () => {
  const response = {
    items: [
      { metadata: {}, versions: [{ version: "v1", resources: [resource("pods", "Namespaced")] }] },
      group(
        "apps",
        { version: "v2", resources: [resource("sets", "Namespaced"), resource("kinds", "Cluster")] },
        { version: "v1", resources: [resource("sets", "Namespaced"), resource("olds", "Namespaced")] },
      ),
      group("auth", { version: "v1", resources: [resource("reviews", "Namespaced", ["create"])] }),
    ],
  };
  const found = readListableKinds(response).map(
    ({ group: name, version, plural }) => `${name}/${version}/${plural}`,
  );
  expect(found).toEqual(["/v1/pods", "apps/v2/sets", "apps/v1/olds"]);
});

test.each([
  [
    "a group whose server does not respond",
    { items: [group("a", { version: "v1", freshness: "Stale" })] },
    /a\/v1 are not known/,
  ],
  ["a response of another form", { kind: "APIGroupList", groups: [] }, /items/],
])("%s is an error: nothing may be taken for empty", (_what, response, message) => {
  expect(() => readListableKinds(response)).toThrow(message);
});

const log = createLogger({ name: "test", level: "fatal" });
const answer = (response: Partial<TransportResponse>) => ({
  request: async () => ({ status: 200, headers: {}, body: {}, ...response }),
});

test.each([
  ["1", "33"],
  ["1", "36+"],
  ["2", "0"],
])("Kubernetes %s.%s is supported", async (major, minor) => {
  await expect(requireServerVersion(answer({ body: { major, minor } }), log)).resolves.toBeUndefined();
});

test("an older Kubernetes is refused in one sentence that says what to do", async () => {
  await expect(requireServerVersion(answer({ body: { major: "1", minor: "32+" } }), log)).rejects.toThrow(
    "The management cluster runs Kubernetes 1.32, and this program needs 1.33 or newer: upgrade the management cluster first.",
  );
});

test("a server that does not give its version stops no start", async () => {
  await expect(requireServerVersion(answer({ status: 403 }), log)).resolves.toBeUndefined();
});
