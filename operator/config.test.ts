import { expect, test } from "vitest";
import { ConfigError } from "../shared/program/config.ts";
import { describeVariables, readTable } from "../shared/program/testing-tables.ts";
import { environmentSchema, readConfig } from "./config.ts";

const plan = { class: "standard-v1", namespace: "marina-system", controlPlaneReplicas: 1 };
const MARINA_PLANS = JSON.stringify({ default: plan });

test("plans alone are enough, the rest has defaults", () => {
  expect(readConfig({ MARINA_PLANS })).toMatchObject({
    metricsPort: 8081,
    workersPerKind: 10,
    tenantWorkers: 500,
    tenantWorkersPerNamespace: 10,
    resyncSeconds: 600,
    leaseDurationSeconds: 15,
    settings: {
      platformNamespace: "marina-system",
      servicePlans: { default: plan },
      poolDefaults: {
        drainTimeoutSeconds: 600,
        scaleDownDelaySeconds: 600,
        scaleDownUtilizationPercent: 50,
        volumeDetachTimeoutSeconds: 60,
        nodeDeletionTimeoutSeconds: 10,
      },
      platformCIDRs: [],
      clusterNetwork: { pods: ["192.168.0.0/16"], services: ["10.128.0.0/12"] },
    },
  });
});

test("labels reach nodes as Cluster API does by default, else as the configuration says", () => {
  const read = (more: Record<string, string>) =>
    readConfig({ MARINA_PLANS, ...more }).settings.syncedNodeLabels;
  expect(read({}).test("tier")).toBe(false);
  expect(read({ MARINA_SYNCED_NODE_LABELS: "" }).test("tier")).toBe(false);
  expect(read({ MARINA_SYNCED_NODE_LABELS: "^example" }).test("example.com/a")).toBe(true);
});

test("the Pods of autoscalers are what the configuration says, and a field that they do not have is refused", () => {
  const read = (pod: object) =>
    readConfig({ MARINA_PLANS, MARINA_CLUSTER_AUTOSCALER_POD: JSON.stringify(pod) }).settings.autoscalerPod;
  const pod = {
    podSecurityContext: { runAsNonRoot: true },
    resources: { limits: { memory: "1Gi" } },
    tolerations: [{ key: "platform", operator: "Exists" }],
  };
  expect(read(pod)).toEqual(pod);
  expect(() => read({ hostNetwork: true })).toThrow(ConfigError);
  expect(() => read({ resources: "1Gi" })).toThrow(/must be an object/);
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

test.each([
  ['{\n  "default": {,\n}', "MARINA_PLANS: is not valid JSON: line 2, column 15 should have a field name"],
  [
    JSON.stringify({ default: { ...plan, clas: "x" } }),
    'MARINA_PLANS.default: has no field "clas"; did you mean `class`?',
  ],
])("a setting of JSON says where its fault is: %j", (text, message) => {
  expect(() => readConfig({ MARINA_PLANS: text })).toThrow(message);
});

test.each([
  ["MARINA_POD_CIDRS", { MARINA_POD_CIDRS: "10.0.0.0" }],
  ["MARINA_POD_CIDRS", { MARINA_POD_CIDRS: "10.0.0.0/16,10.1.0.0/16" }],
  ["MARINA_SERVICE_CIDRS", { MARINA_SERVICE_CIDRS: "10.0.0.5/16" }],
  ["10.128.0.0/12 do", { MARINA_POD_CIDRS: "10.130.0.0/16" }],
  ["10.64.0.0/10 do", { MARINA_SERVICE_CIDRS: "10.96.0.0/12" }],
])("networks that no cluster could have are rejected: %s in %o", (message, networks) => {
  expect(() => readConfig({ MARINA_PLANS, ...networks })).toThrow(message);
});

test("without networks the cluster class decides", () => {
  const { settings } = readConfig({ MARINA_PLANS, MARINA_POD_CIDRS: "", MARINA_SERVICE_CIDRS: " " });
  expect(settings.clusterNetwork).toEqual({ pods: undefined, services: undefined });
});

test("without a driver there is no shared storage", () => {
  expect(readConfig({ MARINA_PLANS }).storage).toBeUndefined();
});

test("a shared storage of folders has the platform's default, and a round each minute", () => {
  const root = "/shared-storage";
  const folders = { MARINA_PLANS, MARINA_STORAGE_DRIVER: "directory", MARINA_STORAGE_DIRECTORY: root };
  expect(readConfig(folders).storage).toEqual({
    backend: { kind: "directory", root },
    defaultQuotaBytes: 100 * 2 ** 30,
    intervalSeconds: 60,
  });
});

test("a shared storage of Ceph has a user and a prefix of its pools", () => {
  const MARINA_CEPH_URL = "https://ceph.example.com:8443";
  const MARINA_CEPH_PASSWORD_FILE = "/secrets/password";
  const ceph = { MARINA_PLANS, MARINA_STORAGE_DRIVER: "ceph", MARINA_CEPH_URL, MARINA_CEPH_PASSWORD_FILE };
  expect(readConfig(ceph).storage?.backend).toEqual({
    kind: "ceph",
    connection: {
      url: MARINA_CEPH_URL,
      username: "marina",
      passwordFile: MARINA_CEPH_PASSWORD_FILE,
    },
    poolPrefix: "marina-",
  });
});

test.each([
  ["MARINA_STORAGE_DRIVER", { MARINA_STORAGE_DRIVER: "disk" }],
  ["MARINA_STORAGE_DIRECTORY", { MARINA_STORAGE_DRIVER: "directory" }],
  [
    "MARINA_STORAGE_DIRECTORY",
    { MARINA_STORAGE_DRIVER: "directory", MARINA_STORAGE_DIRECTORY: "relative/path" },
  ],
  ["MARINA_CEPH_URL", { MARINA_STORAGE_DRIVER: "ceph", MARINA_CEPH_PASSWORD_FILE: "/password" }],
  ["MARINA_CEPH_PASSWORD_FILE", { MARINA_STORAGE_DRIVER: "ceph", MARINA_CEPH_URL: "https://ceph" }],
  ["MARINA_CEPH_URL", { MARINA_CEPH_URL: "http://ceph.example.com" }],
  ["MARINA_STORAGE_INTERVAL_SECONDS", { MARINA_STORAGE_INTERVAL_SECONDS: "241" }],
  ["MARINA_DEFAULT_STORAGE_QUOTA_GB", { MARINA_DEFAULT_STORAGE_QUOTA_GB: "0" }],
])("a shared storage that cannot be used is rejected: %s in %o", (message, storage) => {
  expect(() => readConfig({ MARINA_PLANS, ...storage })).toThrow(message);
});

test("plans without a default are rejected, since a cluster may omit its plan", () => {
  expect(() => readConfig({ MARINA_PLANS: JSON.stringify({ dev: plan }) })).toThrow("default");
});

test("docs/operators/settings.md has every variable of the operator, with its default and bounds", () => {
  const rows = readTable("docs/operators/settings.md", "## Operator");
  const described = describeVariables(environmentSchema);
  expect(rows.map(([variable, usual, bounds]) => ({ variable, usual, bounds }))).toEqual(
    described.map((one, index) => ({ ...one, usual: one.usual ?? rows[index]?.[1] })),
  );
});
