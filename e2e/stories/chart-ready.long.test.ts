import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findFreePort } from "../platform/programs/free-port.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import { REQUIRED_VALUES, renderChart } from "../testing/chart.ts";

/** Runs the script of the test's Pod with these programs in place of the Services. */
async function runTest(hosts: Record<string, string>) {
  const { objects } = await renderChart("marina", "marina-system", REQUIRED_VALUES);
  const pod = objects.find(({ metadata }) => metadata.name === "marina-test-ready");
  const [, flag, script] = pod?.spec.containers[0].command ?? [];
  const aimed = Object.entries(hosts).reduce((text, [name, url]) => text.replaceAll(name, url), script);
  return spawnSync(process.execPath, [flag, aimed], { encoding: "utf8", timeout: 300_000 });
}

const stack = readStack();
const running = {
  "http://marina-apiserver-metrics:8081": new URL(stack.metrics.apiserver).origin,
  "http://marina-operator-metrics:8081": new URL(stack.metrics.operator).origin,
  "http://marina-apiserver/": `${stack.apiUrl}/`,
};

// Its requests have deadlines, which a slow machine with neighbours may not meet at once.
test("helm test succeeds where both programs are ready", async () => {
  const passed = await waitFor("the test to pass", async () => {
    const { status, stderr } = await runTest(running);
    return status === 0 ? { stderr } : Promise.reject(new Error(stderr));
  });
  expect(passed).toEqual({ stderr: "" });
});

test("helm test fails with one sentence that names the program", async () => {
  const closed = `http://127.0.0.1:${await findFreePort()}`;
  const failed = await waitFor("the test to come to the operator", async () => {
    const { status, stderr } = await runTest({ ...running, "http://marina-operator-metrics:8081": closed });
    return stderr.startsWith(closed) ? { status, stderr } : Promise.reject(new Error(stderr));
  });
  expect(failed).toEqual({
    status: 1,
    stderr: `${closed}/readyz cannot be reached (ECONNREFUSED): kubectl logs deployment/marina-operator tells why.\n`,
  });
});

/** Runs the preflight of the chart for a class of the plan `default`, with the environment of its Pod. */
async function runPreflight(clusterClass: string) {
  const plans = { default: { class: clusterClass, namespace: "marina-system", controlPlaneReplicas: 1 } };
  const { objects } = await renderChart("marina", "marina-system", { ...REQUIRED_VALUES, plans });
  const pod = objects.find(({ metadata }) => metadata.name === "marina-test-preflight");
  const { args, env } = pod?.spec.containers[0] ?? {};
  const variables = env.map(({ name, value = "marina-system" }: { name: string; value?: string }) => [
    name,
    value,
  ]);
  return spawnSync(process.execPath, [join("dist", `${args[0]}.js`), ...args.slice(1)], {
    encoding: "utf8",
    env: { ...Object.fromEntries(variables), KUBECONFIG: stack.kubeconfig },
    timeout: 300_000,
  });
}

test("helm test says what the installation has of what Marina needs, and fails where every cluster would wait", async () => {
  const query = [
    "get",
    "clusterclasses",
    "--namespace=marina-system",
    "--output=jsonpath={.items[0].metadata.name}",
  ];
  const complete = await runPreflight((await kubectl(query)).stdout);
  expect(complete).toMatchObject({ status: 0, stderr: "" });
  expect(complete.stdout).toMatch(/^ok +rights: /m);
  expect(complete.stdout).toMatch(/^(ok|warning) +plan default: The cluster class/m);
  const incomplete = await runPreflight("absent");
  expect(incomplete).toMatchObject({ status: 1, stderr: "" });
  expect(incomplete.stdout).toMatch(/^failed +plan default: .*Install it/m);
});
