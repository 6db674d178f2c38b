import { expect, test } from "vitest";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { settings } from "../testing.ts";
import { checkInstallation, reportInstallation } from "./run.ts";

const absent = { class: "absent", namespace: settings.platformNamespace, controlPlaneReplicas: 1 };
const config = {
  settings: { ...settings, plans: { absent }, autoscalerImage: undefined, syncedNodeLabels: /.*/ },
};

function open() {
  return createTransport({ connection: loadConnection(process.env.MARINA_TEST_KUBECONFIG) });
}

test("a complete installation is ok, but for its only plan, which has no class", async () => {
  const transport = open();
  const checks = await checkInstallation(transport, config);
  await transport.close();
  const states = Object.fromEntries(checks.map(({ about, state }) => [about, state]));
  expect(states).toMatchObject({
    kubernetes: "ok",
    kinds: "ok",
    rights: "ok",
    gates: "ok",
    "plan absent": "failed",
    autoscaler: "warning",
    networks: "ok",
  });
});

test("the operator logs at its start what keeps clusters back", async () => {
  const transport = open();
  const warnings: string[] = [];
  const warn = (...said: unknown[]) => {
    warnings.push(String(said[1]));
  };
  await reportInstallation(transport, config, { warn, info: () => undefined });
  await transport.close();
  expect(warnings).toEqual([
    expect.stringContaining("The cluster class absent of the plan absent is not installed."),
  ]);
});
