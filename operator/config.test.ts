import { expect, test } from "vitest";
import { ConfigError } from "../shared/config.ts";
import { readConfig } from "./config.ts";

const plan = { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 1 };
const MARINA_PLANS = JSON.stringify({ default: plan });

test("plans alone are enough, the rest has defaults", () => {
  expect(readConfig({ MARINA_PLANS })).toMatchObject({
    metricsPort: 8081,
    workersPerKind: 10,
    tenantWorkers: 500,
    tenantWorkersPerNamespace: 10,
    resyncSeconds: 600,
    settings: {
      platformNamespace: "marina-system",
      plans: { default: plan },
      poolDefaults: { drainTimeoutSeconds: 600, scaleDownDelaySeconds: 600, scaleDownUtilizationPercent: 50 },
      platformCIDRs: [],
    },
  });
});

test("all errors are reported together, by variable", () => {
  const read = () =>
    readConfig({
      MARINA_PLANS: "{",
      MARINA_SUBNET_RANGE: "10.64.0.0/30",
      MARINA_PLATFORM_CIDRS: "10.0.0.0/8,here",
      MARINA_METRICS_PORT: "no",
      MARINA_SYNCED_NODE_LABELS: "(",
    });
  expect(read).toThrow(ConfigError);
  for (const name of [
    "MARINA_PLANS",
    "MARINA_SUBNET_RANGE",
    "MARINA_PLATFORM_CIDRS",
    "MARINA_METRICS_PORT",
    "MARINA_SYNCED_NODE_LABELS",
  ]) {
    expect(read).toThrow(name);
  }
});

test("plans without a default are rejected, since a cluster may omit its plan", () => {
  expect(() => readConfig({ MARINA_PLANS: JSON.stringify({ dev: plan }) })).toThrow("default");
});
