import { afterEach, beforeEach, expect, test } from "vitest";
import { CAPABILITIES_CONFIG_MAP, CAPABILITIES_KEY } from "../../shared/crd/names.ts";
import { classCapabilitiesSchema } from "../../shared/crd/published-config.ts";
import { openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { settings } from "../testing.ts";

const TEST = { fieldManager: "test" };

let api: TestApi;
beforeEach(async () => {
  api = await openTestApi();
});
afterEach(() => api.close());

async function readPublished() {
  const map = await api.client.get(configMapKind, settings.platformNamespace, CAPABILITIES_CONFIG_MAP);
  return classCapabilitiesSchema.safeParse(JSON.parse(map?.data?.[CAPABILITIES_KEY] ?? "null")).data;
}

test("the operator publishes what the classes can do, the gate for taints included, and again when it is changed", async () => {
  const whole = { default: { class: expect.any(String), authorizedCIDRs: true, nodeTaints: true } };
  await expect.poll(readPublished).toMatchObject(whole);
  const name = [configMapKind, settings.platformNamespace, CAPABILITIES_CONFIG_MAP] as const;
  await api.client.mergePatch(...name, { data: { [CAPABILITIES_KEY]: "{}" } }, TEST);
  await expect.poll(readPublished).toMatchObject(whole);
});
