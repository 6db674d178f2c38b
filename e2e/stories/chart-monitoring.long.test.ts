import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "charts", "marina", "monitoring");
const stack = readStack();

interface Alert {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

const read = (name: string): string => readFileSync(join(FOLDER, name), "utf8");
const rules: { groups: { rules: Alert[] }[] } = parse(read("alerts.yaml"));
const alerts = rules.groups.flatMap((group) => group.rules);

/** Title of the panel and expression, of every dashboard. */
const panels = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".dashboard.json"))
  .flatMap((name) => {
    const dashboard: { panels: { title: string; targets: { expr: string }[] }[] } = JSON.parse(read(name));
    return dashboard.panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }): [string, string] => [`${name}: ${title}`, expr]),
    );
  });

/** The names of metrics in an expression; throws when it is not PromQL. */
function findMetrics(expression: string): string[] {
  const names: string[] = [];
  parser
    .configure({ strict: true })
    .parse(expression)
    .iterate({
      enter: ({ name, from, to, node }) => {
        if (name === "Identifier" && node.parent?.name === "VectorSelector")
          names.push(expression.slice(from, to));
      },
    });
  return names;
}

/** The metrics of the Kubernetes API server, after an attempt that it refuses. */
async function readKubernetesMetrics(): Promise<string> {
  const attempt = ["label", "namespace", "default", "cloud.marina.dev/org-id=none"];
  await expect(kubectl([...attempt, "--dry-run=server"])).rejects.toThrow(/must be a UUID/);
  return (await kubectl(["get", "--raw", "/metrics"])).stdout;
}

/** Names of the samples that both programs and Kubernetes can expose; a histogram has three. */
async function readExposed(): Promise<Set<string>> {
  const texts = await Promise.all([
    ...Object.values(stack.metrics).map(async (url) => (await fetch(url)).text()),
    readKubernetesMetrics(),
  ]);
  const types = texts.join("\n").matchAll(/^# TYPE (\S+) (\S+)$/gm);
  return new Set(
    [...types].flatMap(([, name = "", type]) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

describe("alerts and dashboards read metrics that the programs and Kubernetes expose", () => {
  let exposed = new Set<string>();

  test.each([...alerts.map(({ alert, expr }): [string, string] => [alert, expr]), ...panels])(
    "%s",
    async (_, expression) => {
      const metrics = findMetrics(expression);
      expect(metrics.length).toBeGreaterThan(0);
      // Some are registered when the program leads, which may be after it is ready.
      await waitFor("all of them", async () => {
        const missing = metrics.filter((name) => !exposed.has(name));
        if (missing.length === 0) return true;
        exposed = await readExposed();
        throw new Error(`not exposed: ${missing.join(", ")}`);
      });
    },
  );
});

test("every alert has a name of its own, a severity, what is wrong and what to do", () => {
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  for (const { labels, annotations } of alerts) {
    expect(["critical", "warning"]).toContain(labels.severity);
    expect(annotations.summary).toMatch(/\.$/);
    expect(annotations.description.length).toBeGreaterThan(annotations.summary.length / 2);
  }
});
