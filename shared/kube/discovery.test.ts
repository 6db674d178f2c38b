import { expect, test } from "vitest";
import { readListableKinds } from "./discovery.ts";

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
