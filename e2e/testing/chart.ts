import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse, parseAllDocuments } from "yaml";
import { readStack } from "../platform/stack/testing.ts";

const CHARTS = join(import.meta.dirname, "..", "..", "charts");

export type ChartName = "marina" | "marina-classes";
export type Values = Record<string, unknown>;

export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: whatever a test looks at
  [field: string]: any;
}

/** The values that the chart marina asks for. */
export const REQUIRED_VALUES = {
  host: "api.example.com",
  image: { repository: "registry.example.com/marina" },
  database: { existingSecret: "marina-database" },
  oidc: { issuers: [{ issuer: "https://id.example.com", audience: "marina" }] },
};

/** What they need besides with an Ingress or a route. */
export const PROXIED = { apiserver: { trustedProxies: ["10.0.0.0/16"] } };

/**
 * Runs helm against the stack with the values on standard input; rejects with its error output, and with its warnings.
 */
export async function runHelm(args: readonly string[], values: Values): Promise<string> {
  const { helm, kubeconfig } = readStack();
  const running = promisify(execFile)(helm, [...args, "--values", "-"], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    maxBuffer: 16 * 1024 * 1024,
  });
  running.child.stdin?.end(JSON.stringify(values));
  const { stdout, stderr } = await running;
  if (/warn/i.test(stderr)) throw new Error(`helm ${args.join(" ")} warns: ${stderr}`);
  return stdout;
}

export function pathOfChart(chart: ChartName): string {
  return join(CHARTS, chart);
}

/** The chart with these values, after a lint that lets no warning pass. */
export async function renderChart(
  chart: ChartName,
  namespace: string,
  values: Values,
): Promise<{ text: string; objects: Rendered[] }> {
  const folder = pathOfChart(chart);
  await runHelm(["lint", "--strict", folder], values);
  const text = await runHelm(["template", chart, folder, "--namespace", namespace], values);
  const objects = text.split(/^---$/m).flatMap((document) => readDocument(document) ?? []);
  return { text, objects };
}

/** What was read, by its text: most documents of a chart are the same whatever the values. */
const known = new Map<string, Rendered | null>();

/** The object of a document that helm wrote; null when it has comments alone. Throws when it is not one document of YAML. */
export function readDocument(text: string): Rendered | null {
  let object = known.get(text);
  if (object === undefined) {
    const [document, ...others] = parseAllDocuments(text);
    const [error] = document?.errors ?? [];
    if (error !== undefined || others.length > 0)
      throw new Error(`not YAML: ${error?.message ?? "two documents"}`);
    object = (document?.toJS() as Rendered | null | undefined) ?? null;
    known.set(text, object);
  }
  return structuredClone(object);
}

/**
 * Packages a chart into a folder, under this version and with it as the version of the application. Returns the path of the
 * package.
 */
export async function packageChart(
  folder: string,
  helm: string,
  { chart, version }: { chart: string; version: string },
): Promise<string> {
  const { name } = parse(readFileSync(join(chart, "Chart.yaml"), "utf8"));
  const versions = ["--version", version, "--app-version", version];
  await promisify(execFile)(helm, ["package", chart, ...versions, "--destination", folder]);
  return join(folder, `${name}-${version}.tgz`);
}

/** The message of the refusal to render these values; empty when they are not refused. */
export async function findRefusal(chart: ChartName, values: Values): Promise<string> {
  return runHelm(["template", chart, pathOfChart(chart)], values).then(
    () => "",
    ({ stderr }: { stderr: string }) => stderr,
  );
}
