import { expect, test } from "vitest";
import { REQUIRED_VALUES, renderChart } from "../testing/chart.ts";

const NAMESPACE = "marina-chart-test";

test("the database that the chart makes stays when the release is uninstalled, and the API server owns none of it", async () => {
  const database = { cloudNativePG: { enabled: true, apiserverSecret: "api-database" } };
  const { objects } = await renderChart("marina", NAMESPACE, { ...REQUIRED_VALUES, database });
  const cluster = objects.find(({ apiVersion }) => apiVersion.startsWith("postgresql.cnpg.io/"));
  expect(cluster?.metadata).toMatchObject({ annotations: { "helm.sh/resource-policy": "keep" } });
  expect(cluster?.spec.bootstrap.initdb).toEqual({ database: "marina", owner: "marina_owner" });
  const addresses = objects
    .flatMap(({ spec }) => spec?.template?.spec?.containers ?? [])
    .flatMap(({ env }) => env.filter((one: { name: string }) => one.name === "MARINA_DATABASE_URL"))
    .map(({ value }) => new URL(value.replace(/\$\(\w+\)/, "password")))
    .map(({ username, hostname, search }) => [username, hostname, search]);
  const host = `marina-database-rw.${NAMESPACE}.svc`;
  expect(addresses).toEqual([
    ["marina_apiserver", host, "?sslmode=verify-full"],
    ["marina_owner", host, "?sslmode=verify-full"],
  ]);
});
