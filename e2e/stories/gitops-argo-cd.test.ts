import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { ROOT } from "../platform/stack/marina.ts";
import { kubectl } from "../platform/stack/testing.ts";
import { setUp } from "../testing/set-up.ts";
import { openThreeWays } from "../testing/three-ways.ts";

const applicationShape = z.object({
  spec: z.object({ syncPolicy: z.object({ syncOptions: z.array(z.string()) }) }),
});

/** How Argo CD applies a manifest by each sync option (gitops-engine, newApplyOptions); of another one the test knows nothing. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  "ServerSideApply=true": ["--server-side", "--force-conflicts", "--field-manager=argocd-controller"],
  // It sends none of the fields that the ignored managers own; the manifest of this test names none of them.
  "RespectIgnoreDifferences=true": [],
};

function readApplyFlags(): string[] {
  const text = readFileSync(join(ROOT, "examples/argo-cd/application.yaml"), "utf8");
  const { syncOptions } = applicationShape.parse(parse(text)).spec.syncPolicy;
  return syncOptions.flatMap((option) => {
    const flags = FLAGS[option];
    if (flags === undefined) throw new Error(`unknown sync option ${option}`);
    return flags;
  });
}

const ways = setUp(openThreeWays);

test("a sync of Argo CD takes back what REST wrote to no field that Git leaves out, and REST writes none that Git names", async () => {
  const flags = readApplyFlags();
  const manifest = ways.manifest("Cluster", "synced", {
    displayName: "Synced",
    version: "1.34",
    plan: "scale",
    publicEndpoint: true,
  });
  const sync = () => kubectl(["apply", ...flags, "-f", "-"], { stdin: JSON.stringify(manifest) });
  await sync();
  const path = `${ways.clusters}/${await ways.findId(clusterKind, "synced")}`;
  await ways.waitUntilServed(path);

  const change = { deletion_protection: true, labels: { team: "web" } };
  expect((await ways.alice.request("PUT", path, change)).status).toBe(200);
  await sync();
  const { spec } = (await ways.kube.get(clusterKind, ways.namespace, "synced")) ?? {};
  expect(spec).toMatchObject({ deletionProtection: true, labels: { team: "web" } });

  const { status, body } = await ways.alice.request("PUT", path, { name: "renamed" });
  expect([status, body.error.code]).toEqual([409, "managed_elsewhere"]);
  expect(JSON.stringify(body)).toContain("argocd-controller");
  expect((await ways.alice.request("PUT", path, { deletion_protection: false })).status).toBe(200);
});
