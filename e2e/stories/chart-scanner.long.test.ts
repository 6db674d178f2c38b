import { expect, test } from "vitest";
import { REQUIRED_VALUES, type Rendered, renderChart, type Values } from "../testing/chart.ts";

const SCANNER = {
  registry: { existingSecret: "marina-registry" },
  scanner: { enabled: true, replicas: 2, image: { repository: "registry.example.com/scanner" } },
};

const render = (values: Values) => renderChart("marina", "default", { ...REQUIRED_VALUES, ...values });

test("the scanner is there when it is asked for, as one Deployment that has no rights in Kubernetes", async () => {
  const isOfScanner = ({ metadata }: Rendered) => metadata.name.startsWith("marina-scanner");
  expect((await render({})).objects.filter(isOfScanner)).toEqual([]);
  const { objects } = await render(SCANNER);
  expect(
    objects
      .filter(isOfScanner)
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(["Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"]);
  const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding"));
  expect(bindings.length).toBeGreaterThan(0);
  expect(JSON.stringify(bindings)).not.toContain("marina-scanner");
});

async function readContainers() {
  const { objects } = await render(SCANNER);
  return objects
    .filter(({ kind, metadata }) => kind === "Deployment" && metadata.name !== "marina-operator")
    .flatMap(({ metadata, spec }) =>
      (spec.template.spec.containers as Container[]).map((container) => ({
        ...container,
        deployment: metadata.name,
        roles: container.env.find(({ name }) => name === "MARINA_ROLES")?.value,
      })),
    );
}

interface Container {
  name: string;
  image: string;
  args: string[];
  env: { name: string; value?: string }[];
  volumeMounts: { name: string; readOnly?: boolean }[];
}

test("what needs grype runs where grype is, in a container of its own", async () => {
  const containers = await readContainers();
  expect(
    containers.map(({ deployment, image, args, roles }) => [deployment, image.split(":")[0], args, roles]),
  ).toEqual([
    ["marina-apiserver", "registry.example.com/marina", ["apiserver"], "api,projector,harvester,webhooks"],
    ["marina-scanner", "registry.example.com/marina", ["apiserver"], "scanner"],
    ["marina-scanner", "registry.example.com/scanner", ["scanner"], undefined],
  ]);
});

test("grype has no secret in its reach: neither variables, nor the token of a ServiceAccount", async () => {
  const grype = (await readContainers()).find(({ name }) => name === "grype");
  expect(grype?.env.map(({ name, value }) => [name, typeof value])).toEqual([
    ["MARINA_SCANNER_SOCKET", "string"],
    ["NODE_OPTIONS", "string"],
  ]);
  expect(grype?.volumeMounts.map(({ name }) => name)).toEqual(["tmp", "socket", "database"]);
  const { objects } = await render(SCANNER);
  const pod = objects.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === "marina-scanner",
  )?.spec.template.spec;
  expect([pod.automountServiceAccountToken, pod.shareProcessNamespace ?? false]).toEqual([false, false]);
});
