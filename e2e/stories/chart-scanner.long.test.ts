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
  ).toEqual(["Deployment", "PodDisruptionBudget", "Service", "ServiceAccount"]);
  const bindings = objects.filter(({ kind }) => kind.endsWith("RoleBinding"));
  expect(bindings.length).toBeGreaterThan(0);
  expect(JSON.stringify(bindings)).not.toContain("marina-scanner");
});

test("what needs grype runs where grype is", async () => {
  const { objects } = await render(SCANNER);
  const roles = objects
    .filter(({ kind, metadata }) => kind === "Deployment" && metadata.name !== "marina-operator")
    .map(({ metadata, spec }) => {
      const [{ image, env }] = spec.template.spec.containers;
      const { value } = env.find(({ name }: { name: string }) => name === "MARINA_ROLES");
      return [metadata.name, image.split(":")[0], value];
    });
  expect(roles).toEqual([
    ["marina-apiserver", "registry.example.com/marina", "api,projector,harvester,webhooks"],
    ["marina-scanner", "registry.example.com/scanner", "scanner"],
  ]);
});
