import { expect, test } from "vitest";
import { loadConnection } from "../../shared/kube/connection.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { settings } from "../testing.ts";
import { checkInstallation } from "./run.ts";

test("a complete installation is ok, and a plan without its class has failed", async () => {
  const transport = createTransport({ connection: loadConnection(process.env.MARINA_TEST_KUBECONFIG) });
  const absent = { class: "absent", namespace: settings.platformNamespace, controlPlaneReplicas: 1 };
  const checks = await checkInstallation(transport, {
    settings: {
      ...settings,
      plans: { absent },
      autoscalerImage: undefined,
      syncedNodeLabels: /.*/,
    },
  });
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
