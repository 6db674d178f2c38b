import { expect, test } from "vitest";
import { setUp } from "../e2e/testing/set-up.ts";
import {
  applyPlan,
  composePlan,
  type Plan,
  type PlanContext,
  type Step,
  StepError,
} from "../shared/controller/plan.ts";
import type { RecordedEvent } from "../shared/controller/recorder.ts";
import { openTestApi } from "../shared/crd/testing.ts";
import { type ConfigMap, configMapKind, type Namespace, namespaceKind } from "../shared/kube/core-kinds.ts";
import { KubeError } from "../shared/kube/errors.ts";
import { makeRunContext } from "./cluster/testing-run.ts";

const api = setUp(openTestApi);

const MANAGER = "marina-operator";

type Conditioned = { status?: { conditions?: { type: string }[] } };

function stepOf(name: string, data: Record<string, string>, isNew: boolean): Step {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: api.namespace }, data };
  return { verb: "apply", kind: configMapKind, object, isNew };
}

/** Applies a plan, and returns the reasons of the Events that were recorded, whether it failed or not. */
async function applyAndListEvents(
  object: ConfigMap,
  plan: Partial<Plan<never>>,
): Promise<{ reasons: string[]; error: unknown }> {
  const reasons: string[] = [];
  const context: PlanContext<ConfigMap> = {
    ...makeRunContext(api.client, "example.com/none", MANAGER),
    kind: configMapKind,
    recorder: { record: ({ reason }) => reasons.push(reason) },
  };
  const error = await applyPlan(context, object, composePlan(plan)).catch((failure: unknown) => failure);
  return { reasons, error };
}

/** Applies one step; the owner of the plan does not matter to it. Returns the error. */
async function applyStep(step: Step): Promise<unknown> {
  const owner = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "owner" } };
  const { error } = await applyAndListEvents(owner, { write: [step] });
  return error;
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
  const failure = await applyStep(stepOf("foreign", { ours: "1" }, true));
  expect(failure).toBeInstanceOf(StepError);
  const { cause } = failure as StepError;
  expect(cause instanceof KubeError && cause.isConflict).toBe(true);
  const after = await read("foreign");
  expect(after?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

test("an apply with a uid changes the object that has it, makes none, and changes no other", async () => {
  await applyStep(stepOf("known", { kept: "1" }, true));
  const uid = (await read("known"))?.metadata.uid;
  const change = { ...stepOf("known", { kept: "2" }, false), uid } as Step;
  expect(await applyStep(change)).toBeUndefined();
  expect((await read("known"))?.data).toEqual({ kept: "2" });
  await api.client.delete(configMapKind, api.namespace, "known");
  expect(await applyStep(change)).toMatchObject({ cause: { status: 409, isConflict: true } });
  expect(await read("known")).toBeUndefined();
  await applyStep(stepOf("known", { other: "1" }, true));
  expect(await applyStep(change)).toMatchObject({ cause: { isConflict: true } });
  expect((await read("known"))?.data).toEqual({ other: "1" });
});

test("the Events about a removed annotation and a step are recorded although a later step fails, those of the plan are not", async () => {
  const metadata = { name: "asked", namespace: api.namespace, annotations: { "example.com/asked": "1" } };
  const asked = await api.client.create(configMapKind, { metadata }, { fieldManager: "person" });
  const eventOf = (reason: string): RecordedEvent => ({
    regarding: { apiVersion: "v1", kind: "ConfigMap", namespace: api.namespace, name: "asked" },
    type: "Normal",
    reason,
    action: "Test",
    note: "",
  });
  const { reasons, error } = await applyAndListEvents(asked, {
    metadata: { dropAnnotations: ["example.com/asked"], events: [eventOf("Answered")] },
    write: [
      { ...stepOf("made", {}, true), event: eventOf("Made") },
      { ...stepOf("asked", {}, true), event: eventOf("MadeAgain") },
    ],
    events: [eventOf("Applied")],
  });
  expect(error).toBeInstanceOf(StepError);
  expect(reasons).toEqual(["Answered", "Made"]);
  expect((await read("asked"))?.metadata.annotations ?? {}).toEqual({});
});

test("a condition that ended is removed after the Events of the plan, which are recorded although that fails", async () => {
  const namespace = () => api.client.get(namespaceKind, undefined, api.namespace);
  const listTypes = async () => {
    const { status } = (await namespace()) as Conditioned;
    return status?.conditions?.map(({ type }) => type) ?? [];
  };
  const ended = { type: "Ended", status: "True", reason: "Test", message: "" };
  const write = { fieldManager: "person", subresource: "status" as const };
  const patch = { status: { conditions: [ended] } };
  await api.client.mergePatch(namespaceKind, undefined, api.namespace, patch, write);
  const reasons: string[] = [];
  const apply = async (patches: Partial<typeof api.client>) => {
    const context: PlanContext<Namespace> = {
      ...makeRunContext({ ...api.client, ...patches }, "example.com/none", MANAGER),
      kind: namespaceKind,
      recorder: { record: ({ reason }) => reasons.push(reason) },
      conditionTypes: [ended.type],
    };
    const object = (await namespace()) as Namespace;
    const regarding = { apiVersion: "v1", kind: "Namespace", namespace: "", name: api.namespace };
    const event: RecordedEvent = { regarding, type: "Normal", reason: "Applied", action: "Test", note: "" };
    await applyPlan(context, object, composePlan({ status: { phase: "Active" }, events: [event] }));
  };
  await expect(apply({ jsonPatch: () => Promise.reject(new Error("refused")) })).rejects.toThrow("refused");
  expect(reasons).toEqual(["Applied"]);
  expect(await listTypes()).toEqual([ended.type]);
  await apply({});
  expect(await listTypes()).toEqual([]);
});

test.each([
  ["is missing", undefined, configMapKind],
  ["is of a version that is not served", 404, { ...configMapKind, version: "v9" }],
])("a plan for an object that %s ends with the error %s", async (_, status, kind) => {
  const context: PlanContext<ConfigMap> = {
    ...makeRunContext(api.client, "example.com/none", MANAGER),
    kind,
  };
  const metadata = { name: "missing", namespace: api.namespace };
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata };
  const apply = applyPlan(context, object, composePlan({ metadata: { labels: { seen: "yes" } } }));
  const error = await apply.catch((failure: unknown) => failure);
  expect((error as KubeError | undefined)?.status).toBe(status);
});
