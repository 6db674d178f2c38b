import { expect, test } from "vitest";
import { internWords } from "./intern.ts";

const thing = { apiVersion: "things.test/v1", kind: "Thing", metadata: { name: "a", namespace: "n" } };

test("an object says what it said, also when there are more words than are remembered", () => {
  for (let count = 0; count < 30_000; count++) {
    const condition = { type: "Ready", reason: `reason ${count}`, observedGeneration: count };
    const object = { ...thing, status: { conditions: [{ ...condition }] } };
    internWords(object);
    if (count % 1_000 === 0) expect(object).toEqual({ ...thing, status: { conditions: [condition] } });
  }
});

test.each([{}, { status: {} }, { status: { conditions: "none" } }])("%j has no conditions", (more) => {
  const object = { ...structuredClone(thing), ...more };
  internWords(object);
  expect(object).toEqual({ ...thing, ...more });
});
