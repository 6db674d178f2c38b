import { describe, expect, test } from "vitest";
import { findBrokenRule, readImports } from "./import-rules.ts";

const root = new URL("../..", import.meta.url).pathname;

describe("the import rules of the architecture", () => {
  test("hold for every file of the repository", () => {
    const edges = readImports(root, ["apiserver", "operator", "shared", "e2e"]);
    const broken = edges.flatMap((edge) => {
      const rule = findBrokenRule(edge);
      return rule === undefined ? [] : [`${edge.from}:${edge.line} imports ${edge.to}: ${rule}`];
    });
    expect(edges.length).toBeGreaterThan(100);
    expect(broken).toEqual([]);
  });

  test.each([
    ["shared/log.ts", "operator/main.ts"],
    ["operator/main.ts", "apiserver/app.ts"],
    ["apiserver/app.ts", "operator/engine/cluster-api.ts"],
    ["operator/cluster/watch.ts", "drizzle-orm/postgres-js"],
    ["operator/engine/cluster-api.ts", "@hono/node-server"],
    ["operator/cluster/reconcile.ts", "shared/kube/client.ts"],
    ["operator/cluster/status.ts", "node:crypto"],
    ["shared/controller/queue.ts", "shared/crd/cluster.ts"],
    ["apiserver/http/authentication/authenticator.ts", "apiserver/members/store.ts"],
    ["apiserver/clusters/routes.ts", "apiserver/node-pools/routes.ts"],
    ["apiserver/clusters/store.ts", "apiserver/organizations/table.ts"],
    ["apiserver/main.ts", "e2e/stack/stack.ts"],
    ["e2e/stack/stack.ts", "apiserver/db/client.ts"],
  ])("refuse that %s imports %s", (from, to) => {
    expect(findBrokenRule({ from, to, line: 1 })).toBeTypeOf("string");
  });

  test.each([
    ["apiserver/clusters/routes.ts", "apiserver/node-pools/store.ts"],
    ["apiserver/clusters/routes.ts", "apiserver/http/errors.ts"],
    ["apiserver/db/schema.ts", "apiserver/clusters/table.ts"],
    ["apiserver/app.ts", "apiserver/clusters/routes.ts"],
    ["operator/cluster/watch.ts", "shared/kube/client.ts"],
    ["e2e/stack/stack.ts", "apiserver/db/migrate.ts"],
  ])("allow that %s imports %s", (from, to) => {
    expect(findBrokenRule({ from, to, line: 1 })).toBeUndefined();
  });
});
