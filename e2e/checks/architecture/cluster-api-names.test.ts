import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const operator = new URL("../../../operator", import.meta.url).pathname;

/** API groups, conditions, Event reasons, Secrets and error texts of Cluster API. */
const NAMES =
  /\bcluster\.x-k8s\.io|findCapiCondition|"(TopologyReconciled|ControlPlaneInitialized|ControlPlaneAvailable|RemoteConnectionProbe|InfrastructureReady|BootstrapConfigReady|NodeHealthy|OwnerRemediated|HealthCheckSucceeded|MachineMarkedUnhealthy|SuccessfulDelete|MachineSet)"|-ca["`]|-kubeconfig`|version cannot be changed|exceeded quota/;

function isProduction(file: string): boolean {
  return file.endsWith(".ts") && !/\.test\.ts$|testing|^bench\//.test(file);
}

test("only operator/capi knows the names of Cluster API", () => {
  const files = readdirSync(operator, { recursive: true, encoding: "utf8" }).filter(isProduction);
  const others = files.filter((file) => !file.startsWith("capi/"));
  const found = others.flatMap((file) => {
    const match = NAMES.exec(readFileSync(join(operator, file), "utf8"));
    return match === null ? [] : [`${file}: ${match[0]}`];
  });
  expect(others.length).toBeGreaterThan(50);
  expect(found).toEqual([]);
});
