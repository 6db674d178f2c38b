import { afterAll, beforeAll, expect, test } from "vitest";
import { applyPlan, composePlan, type PlanContext, type Step, StepError } from "../shared/controller/plan.ts";
import { openTestApi, type TestApi } from "../shared/crd/testing.ts";
import { configMapKind } from "../shared/kube/core-kinds.ts";
import { KubeError } from "../shared/kube/errors.ts";

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const MANAGER = "marina-operator";

function stepOf(name: string, data: Record<string, string>, isNew: boolean): Step {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: api.namespace }, data };
  return { verb: "apply", kind: configMapKind, object, isNew };
}

/** Applies one step; the owner of the plan does not matter to it. */
async function applyStep(step: Step): Promise<void> {
  const context: PlanContext<never> = {
    client: api.client,
    kind: configMapKind as never,
    recorder: { record: () => undefined },
    finalizer: "example.com/none",
    fieldManager: MANAGER,
    statusFieldManager: MANAGER,
    onWritten: () => undefined,
    signal: new AbortController().signal,
  };
  await applyPlan(context, {} as never, composePlan({ apply: [step] }));
}

const read = (name: string) => api.client.get(configMapKind, api.namespace, name);

test("an apply of a new object creates it, and a later apply removes what it leaves out", async () => {
  await applyStep(stepOf("fresh", { kept: "1", dropped: "1" }, true));
  expect((await read("fresh"))?.data).toEqual({ kept: "1", dropped: "1" });
  await applyStep(stepOf("fresh", { kept: "1" }, false));
  expect((await read("fresh"))?.data).toEqual({ kept: "1" });
});

test("an apply of a new object fails with a conflict when one exists, and leaves that as it is", async () => {
  const metadata = { name: "foreign", namespace: api.namespace };
  const before = await api.client.create(
    configMapKind,
    { metadata, data: { theirs: "1" } },
    { fieldManager: "person" },
  );
  const failure = await applyStep(stepOf("foreign", { ours: "1" }, true)).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StepError);
  const { cause } = failure as StepError;
  expect(cause instanceof KubeError && cause.isConflict).toBe(true);
  const after = await read("foreign");
  expect(after?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});
