import { expect, test } from "vitest";
import { ANNOTATION_MACHINE_SIZE } from "../../shared/crd/names.ts";
import type { MachineDeployment, MachineSet } from "./kinds.ts";
import { createTemplateSizes } from "./pool-state.ts";

const SMALL = { vcpus: 1, memoryGB: 2, diskGB: 20 };
const LARGE = { vcpus: 64, memoryGB: 128, diskGB: 20 };

function object(template: string, annotation?: string, namespace = "org-1") {
  const infrastructureRef = { apiGroup: "example.com", kind: "Template", name: template };
  const annotations = annotation === undefined ? {} : { [ANNOTATION_MACHINE_SIZE]: annotation };
  return {
    apiVersion: "",
    kind: "",
    metadata: { name: "web", namespace, annotations },
    spec: { template: { spec: { infrastructureRef } } },
  } as unknown as MachineDeployment & MachineSet;
}

/** The sizes after these versions of one MachineDeployment. */
function learn(...versions: MachineDeployment[]) {
  const sizes = createTemplateSizes();
  for (const version of versions) sizes.observe({ type: "updated", object: version } as never);
  return (template: string, namespace?: string) => sizes.find(object(template, "", namespace));
}

test("each template keeps its size, also when the pool changes to another one and back before a machine is seen", () => {
  const find = learn(
    object("a", JSON.stringify(SMALL)),
    object("b", JSON.stringify(LARGE)),
    object("c", JSON.stringify(SMALL)),
  );
  expect([find("a"), find("b"), find("c")]).toEqual([SMALL, LARGE, SMALL]);
});

test("when there are too many, a template that is still in use is not the first to be forgotten", () => {
  const sizes = createTemplateSizes(2);
  for (const template of ["current", "former", "current", "next"]) {
    const object_ = object(template, JSON.stringify(SMALL));
    sizes.observe({ type: "updated", object: object_ } as never);
  }
  const find = (template: string) => sizes.find(object(template));
  expect([find("current"), find("former"), find("next")]).toEqual([SMALL, undefined, SMALL]);
});

test("a class whose templates have no size makes machines of the size that its pool has now", () => {
  const find = learn(object("a", JSON.stringify(LARGE)), object("a", JSON.stringify(SMALL)));
  expect(find("a")).toEqual(SMALL);
});

test.each([
  ["no annotation", undefined],
  ["no JSON", "{"],
  ["another value", JSON.stringify({ vcpus: "64" })],
])("a MachineDeployment with %s tells no size", (_, annotation) => {
  expect(learn(object("a", annotation))("a")).toBeUndefined();
});

test("a template of another Namespace, or of none, has no size", () => {
  const find = learn(object("a", JSON.stringify(LARGE)));
  expect(find("a", "org-2")).toBeUndefined();
  expect(createTemplateSizes().find({ apiVersion: "", kind: "", metadata: { name: "x" } })).toBeUndefined();
});
