import { expect, test } from "vitest";
import { internWords } from "./intern.ts";

const thing = { apiVersion: "things.test/v1", kind: "Thing", metadata: { name: "a", namespace: "n" } };

test("an object says what it said, also when there are more words than are remembered", () => {
  const conditionOf = (count: number) => ({
    type: "Ready",
    reason: `reason ${count}`,
    observedGeneration: count,
  });
  const objects = Array.from({ length: 50_000 }, (_, count) => ({
    ...thing,
    status: { conditions: [conditionOf(count)] },
  }));
  for (const object of objects) internWords(object);
  const changed = objects.filter(({ status }, count) => status.conditions[0]?.reason !== `reason ${count}`);
  expect(changed).toEqual([]);
  expect(objects.at(-1)).toEqual({ ...thing, status: { conditions: [conditionOf(49_999)] } });
});

test.each([{}, { status: {} }, { status: { conditions: "none" } }])("%j has no conditions", (more) => {
  const object = { ...structuredClone(thing), ...more };
  internWords(object);
  expect(object).toEqual({ ...thing, ...more });
});

test("labels and owners say what they said, and those that are frozen are left as they are", () => {
  const metadata = {
    ...thing.metadata,
    labels: Object.freeze({ tier: "web" }),
    ownerReferences: [
      { apiVersion: "v1", kind: "Owner", name: "o", uid: "uid-of-an-owner", controller: true },
    ],
  };
  const object = { ...thing, metadata: structuredClone(metadata) };
  const frozen = { ...thing, metadata: { ...metadata } };
  internWords(object);
  internWords(frozen);
  expect(object).toEqual({ ...thing, metadata });
  expect(frozen.metadata.labels).toBe(metadata.labels);
});

test("a condition that objects share frozen is left as it is", () => {
  const condition = Object.freeze({ type: "Ready", status: "True" });
  const object = { ...structuredClone(thing), status: { conditions: [condition] } };
  internWords(object);
  expect(object.status.conditions[0]).toBe(condition);
});
