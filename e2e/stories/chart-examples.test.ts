import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { REQUIRED_VALUES, type Rendered, renderChart, type Values } from "../testing/chart.ts";
import { WITHOUT_DEFINITIONS } from "../testing/chart-values.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const FOLDER = join(ROOT, "examples", "values");

/** What an installation with the example has, as text of its objects without quotes. */
const PROMISED: Readonly<Record<string, readonly string[]>> = {
  "argo-cd.yaml": ["kind: Job"],
  "ceph-storage.yaml": ["https://ceph-dashboard.rook-ceph.svc:8443", "secretName: marina-ceph"],
  "cloudnative-pg.yaml": ["kind: Cluster", "size: 50Gi", "name: marina-apiserver-database"],
  "flux.yaml": ["kind: ExternalSecret", "kind: CustomResourceDefinition"],
  "gateway.yaml": ["kind: HTTPRoute", "sectionName: https"],
  "harbor.yaml": ["name: marina-registry"],
  "ingress-tls.yaml": ["kind: Ingress", "secretName: api-tls", "proxy-buffering: off"],
  "keycloak.yaml": ["https://id.example.com/realms/main"],
  "object-store.yaml": ["name: marina-attachments"],
  "postgres-verify-full.yaml": ["name: marina-database", "name: company-ca"],
  "prometheus.yaml": ["kind: ServiceMonitor", "kind: PrometheusRule", "release: prometheus"],
};

function readExample(file: string): Values {
  return parse(readFileSync(join(FOLDER, file), "utf8"));
}

/** The example, with what the chart asks for and the example leaves out. */
async function renderExample(file: string): Promise<{ text: string; objects: Rendered[] }> {
  return renderChart("marina", "marina-system", {
    ...WITHOUT_DEFINITIONS,
    ...REQUIRED_VALUES,
    ...readExample(file),
  });
}

describe("examples/values", () => {
  test("has a file for each surrounding, and the chart's README names each", () => {
    const files = readdirSync(FOLDER);
    expect(files.toSorted()).toEqual(Object.keys(PROMISED));
    const readme = readFileSync(join(ROOT, "charts", "marina", "README.md"), "utf8");
    for (const file of files) expect(readme).toContain(`(../../examples/values/${file})`);
  });

  test.each(Object.entries(PROMISED))("%s is rendered to what it promises", async (file, expected) => {
    const { text } = await renderExample(file);
    for (const part of expected) expect(text.replaceAll('"', "")).toContain(part);
  });

  test("argo-cd.yaml keeps the Job of the migration", async () => {
    const { objects } = await renderExample("argo-cd.yaml");
    const jobs = objects.filter(({ kind }) => kind === "Job");
    const migration = jobs.find(({ metadata }) => metadata.name.startsWith("marina-migrate-"));
    expect(migration).toBeDefined();
    expect(migration?.spec.ttlSecondsAfterFinished).toBeUndefined();
  });

  test("all of them but the second database and the second way in can be put together", async () => {
    const left = new Set(["cloudnative-pg.yaml", "gateway.yaml"]);
    const together = Object.keys(PROMISED).filter((file) => !left.has(file));
    const values = Object.assign({}, REQUIRED_VALUES, ...together.map(readExample), WITHOUT_DEFINITIONS);
    const { text } = await renderChart("marina", "marina-system", values);
    expect(text).toContain("kind: Ingress");
  });
});
