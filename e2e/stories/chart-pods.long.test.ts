import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import {
  pathOfChart,
  REQUIRED_VALUES,
  type Rendered,
  renderChart,
  runHelm,
  type Values,
} from "../testing/chart.ts";
import { PLACED } from "../testing/chart-values.ts";

const NAMESPACE = `chart-pods-${randomUUID().slice(0, 8)}`;

beforeAll(async () => {
  await kubectl(["create", "namespace", NAMESPACE]);
  await kubectl(["label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted"]);
  await waitFor("its default ServiceAccount", () =>
    kubectl(["get", "serviceaccount", "default", "--namespace", NAMESPACE]),
  );
});
afterAll(() => kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]));

/** The Pods of the chart: those that it contains, and one for each Pod template. */
async function renderPods(values: Values = {}): Promise<Rendered[]> {
  const { objects } = await renderChart("marina", NAMESPACE, { ...REQUIRED_VALUES, ...values });
  return objects.flatMap((object) => {
    if (object.kind === "Pod") return object;
    const template = object.spec?.template;
    if (template === undefined) return [];
    const metadata = { ...template.metadata, name: object.metadata.name, namespace: NAMESPACE };
    return { ...template, apiVersion: "v1", kind: "Pod", metadata };
  });
}

/** Without the digest in the name of the migration's Job. */
const names = (pods: readonly Rendered[]) =>
  pods.map(({ metadata }) => metadata.name.replace(/^(marina-migrate)-[0-9a-f]{10}$/, "$1")).sort();
const SCANNER = {
  registry: { existingSecret: "marina-registry" },
  scanner: { enabled: true, image: { repository: "registry.example.com/scanner" } },
};
const ALL = [
  "marina-apiserver",
  "marina-migrate",
  "marina-operator",
  "marina-scanner",
  "marina-test-preflight",
  "marina-test-ready",
  "marina-uninstall-check",
];

test("every Pod is admitted where the standard `restricted` is enforced", async () => {
  const pods = await renderPods(SCANNER);
  expect(names(pods)).toEqual(ALL);
  // The accounts are not there: only admission is asked.
  const text = pods.map((pod) => stringify({ ...pod, spec: { ...pod.spec, serviceAccountName: "default" } }));
  const { stdout } = await kubectl(["apply", "--dry-run=server", "--filename=-"], {
    stdin: text.join("---\n"),
  });
  expect(stdout.trim().split("\n")).toHaveLength(ALL.length);
});

test("every container has a root that is read-only, limits, and tells its last words as its termination message", async () => {
  for (const { spec } of await renderPods(SCANNER))
    for (const container of spec.containers) {
      expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true });
      expect(container.resources.limits.memory).toMatch(/i$/);
      expect(container.terminationMessagePolicy).toBe("FallbackToLogsOnError");
    }
});

test("every Pod runs where the values say, as the users and with the labels that they say", async () => {
  const placed = ["apiserver", "operator", "migrate", "hooks"].map((name) => [name, PLACED]);
  const pods = await renderPods({
    ...SCANNER,
    ...Object.fromEntries(placed),
    scanner: { ...SCANNER.scanner, ...PLACED },
    podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
    containerSecurityContext: { privileged: false },
    commonLabels: { team: "platform" },
  });
  expect(names(pods)).toEqual(ALL);
  for (const { metadata, spec } of pods) {
    expect(metadata).toMatchObject({ labels: { team: "platform" } });
    expect(spec).toMatchObject(PLACED);
    expect(spec.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    for (const { securityContext } of spec.containers)
      expect(securityContext).toMatchObject({ privileged: false, readOnlyRootFilesystem: true });
  }
});

test("the operator is told as whom and where the Pods of autoscalers run, as the values say of the others", async () => {
  const told = async (values: Values) => {
    const pods = await renderPods(values);
    const operator = pods.find(({ metadata }) => metadata.name === "marina-operator");
    const { env } = operator?.spec.containers[0] ?? {};
    const found = env.find(({ name }: { name: string }) => name === "MARINA_CLUSTER_AUTOSCALER_POD");
    return found && JSON.parse(found.value);
  };
  expect(await told({})).toMatchObject({
    podSecurityContext: { runAsUser: 65_532 },
    containerSecurityContext: { readOnlyRootFilesystem: true },
    resources: { limits: { memory: "600Mi" } },
  });
  const podSecurityContext = { runAsUser: null, runAsGroup: null, fsGroup: null };
  const pod = await told({ podSecurityContext, autoscaler: PLACED });
  expect(pod).toMatchObject(PLACED);
  expect(pod?.podSecurityContext).toEqual({
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
  });
  expect(await told({ operator: { clusterAutoscalerImage: "" } })).toBeUndefined();
});

test("every object has the common labels, which those of Pods and of the monitoring precede", async () => {
  const labels = { team: "watchers" };
  const { objects } = await renderChart("marina", NAMESPACE, {
    ...REQUIRED_VALUES,
    ...SCANNER,
    commonLabels: { team: "platform" },
    apiserver: { podLabels: labels },
    monitoring: { enabled: true, dashboards: true, labels },
  });
  const monitoring = ["ServiceMonitor", "PrometheusRule"];
  for (const { kind, metadata } of objects) {
    const isWatched = monitoring.includes(kind) || metadata.name === "marina-dashboards";
    expect(metadata.labels?.team, `${kind} ${metadata.name}`).toBe(isWatched ? labels.team : "platform");
  }
  const program = objects.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === "marina-apiserver",
  );
  expect(program?.spec.template.metadata.labels).toMatchObject(labels);
});

test("a number of seven digits is written as one", async () => {
  const seconds = 2_592_000;
  const migrate = { ttlSecondsAfterFinished: seconds, deadlineSeconds: seconds };
  const { text } = await renderChart("marina", NAMESPACE, { ...REQUIRED_VALUES, migrate });
  for (const name of ["ttlSecondsAfterFinished", "activeDeadlineSeconds", "progressDeadlineSeconds"])
    expect(text).toMatch(new RegExp(`^ *${name}: 259\\d{4}$`, "m"));
});

test("the migration is no hook, and its Job has another name exactly when its Pods, deadline or network policy are others", async () => {
  const nameOf = async (values: Values) => {
    const { objects } = await renderChart("marina", NAMESPACE, { ...REQUIRED_VALUES, ...values });
    const jobs = objects.filter(
      ({ kind, metadata }) => kind === "Job" && metadata.name.startsWith("marina-migrate"),
    );
    expect(jobs).toMatchObject([{ spec: { ttlSecondsAfterFinished: 86_400 } }]);
    expect(JSON.stringify(jobs)).not.toMatch(/helm\.sh\/hook|argocd/);
    return jobs[0]?.metadata.name;
  };
  const name = await nameOf({});
  expect(await nameOf({ operator: { replicas: 3 }, migrate: { ttlSecondsAfterFinished: 86_400 } })).toBe(
    name,
  );
  const image = { ...REQUIRED_VALUES.image, tag: "2.0.0" };
  const others = await Promise.all([
    nameOf({ image }),
    nameOf({ migrate: { podLabels: { team: "platform" } } }),
    nameOf({ migrate: { deadlineSeconds: 60 } }),
    nameOf({ networkPolicies: { migrateEgress: [{}] } }),
  ]);
  expect(new Set([name, ...others]).size).toBe(5);
});

test("an API server has the time to leave its load balancers, tell its clients to close, and complete requests", async () => {
  const pods = await renderPods();
  const { terminationGracePeriodSeconds, containers } =
    pods.find(({ metadata }) => metadata.name === "marina-apiserver")?.spec ?? {};
  const preStopSeconds = containers[0].lifecycle.preStop.sleep.seconds;
  expect(preStopSeconds).toBeGreaterThanOrEqual(5);
  const shutdownDelaySeconds = 5;
  const drainSeconds = 20;
  expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
    preStopSeconds + shutdownDelaySeconds + drainSeconds,
  );
});

test("only the programs that talk to Kubernetes have a token", async () => {
  const pods = await renderPods();
  const withToken = pods.filter(({ spec }) => spec.automountServiceAccountToken !== false);
  expect(names(withToken)).toEqual([
    "marina-apiserver",
    "marina-operator",
    "marina-test-preflight",
    "marina-uninstall-check",
  ]);
});

test("every Pod has the image by its digest", async () => {
  const digest = `sha256:${"0".repeat(64)}`;
  const pods = await renderPods({ image: { repository: "registry.example.com/marina", tag: "1", digest } });
  for (const { spec } of pods) expect(spec.containers[0].image).toBe(`registry.example.com/marina@${digest}`);
});

describe.each(["apiserver", "operator"])("the Pods of the %s have what the values add", (program) => {
  const added = {
    podLabels: { team: "platform" },
    podAnnotations: { "example.com/owner": "platform" },
    priorityClassName: "platform-critical",
    nodeSelector: { role: "platform" },
    tolerations: [{ key: "platform", operator: "Exists" }],
  };

  test("labels and places", async () => {
    const pods = await renderPods({ [program]: added });
    const pod = pods.find(({ metadata }) => metadata.name === `marina-${program}`);
    expect(pod?.metadata).toMatchObject({ labels: added.podLabels, annotations: added.podAnnotations });
    const { priorityClassName, nodeSelector, tolerations } = added;
    expect(pod?.spec).toMatchObject({ priorityClassName, nodeSelector, tolerations });
  });
});

test.each([
  ["apiserver", "marina-apiserver"],
  ["operator", "marina-operator"],
  ["operator", "marina-test-preflight"],
])(
  "what the values add to the %s, %s has: environment, volumes and certificate authorities",
  async (program, name) => {
    const added = {
      extraEnv: [{ name: "MARINA_LOG_LEVEL", value: "debug" }],
      extraVolumes: [{ name: "more", emptyDir: {} }],
      extraVolumeMounts: [{ name: "more", mountPath: "/more" }],
    };
    const pods = await renderPods({ [program]: added, caBundleConfigMap: "company-ca" });
    const spec = pods.find(({ metadata }) => metadata.name === name)?.spec;
    const [container] = spec?.containers ?? [];
    const ca = { name: "NODE_EXTRA_CA_CERTS", value: "/etc/marina/ca/ca.crt" };
    expect(container.env).toEqual(expect.arrayContaining([...added.extraEnv, ca]));
    expect(container.volumeMounts).toEqual(
      expect.arrayContaining([
        ...added.extraVolumeMounts,
        { name: "ca", mountPath: "/etc/marina/ca", readOnly: true },
      ]),
    );
    expect(spec?.volumes).toEqual(
      expect.arrayContaining([...added.extraVolumes, { name: "ca", configMap: { name: "company-ca" } }]),
    );
  },
);

test("an installation says which classes its packages have, and who may see the credentials that it copies", async () => {
  const args = ["install", "marina", pathOfChart("marina"), "--namespace", NAMESPACE, "--dry-run=client"];
  const plans = {
    default: { class: "small", controlPlaneReplicas: 1 },
    large: { class: "large", namespace: "classes", controlPlaneReplicas: 3, credentials: ["cloud"] },
  };
  const [, notes] = (await runHelm(args, { ...REQUIRED_VALUES, plans })).split("NOTES:");
  expect(notes).toContain(`  default: ${NAMESPACE}/small\n  large: classes/large\n`);
  expect(notes).toContain("plans.large.credentials (cloud) are copied");
  expect(notes).not.toContain("plans.default.credentials");
  const { objects } = await renderChart("marina", NAMESPACE, { ...REQUIRED_VALUES, plans });
  const operator = objects.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === "marina-operator",
  );
  const { env } = operator?.spec.template.spec.containers[0] ?? {};
  const told = env.find(({ name }: { name: string }) => name === "MARINA_PLANS");
  expect(JSON.parse(told.value)).toEqual({
    default: { class: "small", namespace: NAMESPACE, controlPlaneReplicas: 1 },
    large: { class: "large", namespace: "classes", controlPlaneReplicas: 3, credentials: ["cloud"] },
  });
});

test("an installation with the required values alone says what is off", async () => {
  const args = ["install", "marina", pathOfChart("marina"), "--namespace", NAMESPACE, "--dry-run=client"];
  const notes = (await runHelm(args, REQUIRED_VALUES)).split("NOTES:")[1];
  for (const name of ["webhooks.existingSecret", "attachments.existingSecret", "registry.existingSecret"])
    expect(notes).toContain(`${name} is empty: `);
  const registry = { existingSecret: "c" };
  const all = { webhooks: { existingSecret: "a" }, attachments: { existingSecret: "b" }, registry };
  const told = (await runHelm(args, { ...REQUIRED_VALUES, ...all })).split("NOTES:")[1];
  expect(told).not.toMatch(/(webhooks|attachments)\.existingSecret|registry\.existingSecret is empty/);
  expect(told).toContain(
    "registry.existingSecret: without `limits` in it an organization may store any amount",
  );
});

test.each<[string, Values, boolean]>([
  ["of type LoadBalancer without trusted proxies", { service: { type: "LoadBalancer" } }, true],
  [
    "of type LoadBalancer behind trusted proxies",
    { service: { type: "LoadBalancer" }, trustedProxies: ["10.0.0.0/16"] },
    false,
  ],
])(
  "an installation with a Service %s is told whose address clients must come with",
  async (_, apiserver, isTold) => {
    const args = ["install", "marina", pathOfChart("marina"), "--namespace", NAMESPACE, "--dry-run=client"];
    const notes = (await runHelm(args, { ...REQUIRED_VALUES, apiserver })).split("NOTES:")[1] ?? "";
    const told =
      /trustedProxies is empty: right if .* Service of type LoadBalancer\s+with externalTrafficPolicy Local/;
    expect(told.test(notes)).toBe(isTold);
  },
);
