import { expect, test } from "vitest";
import { internConditions } from "./intern.ts";

test("conditions say what they said, also when there are more words than are remembered", () => {
  for (let count = 0; count < 30_000; count++) {
    const condition = { type: "Ready", reason: `reason ${count}`, observedGeneration: count };
    const object = { status: { conditions: [{ ...condition }] } };
    internConditions(object);
    expect(object).toEqual({ status: { conditions: [condition] } });
  }
});

test.each([{}, { status: {} }, { status: { conditions: "none" } }])("%j has no conditions", (object) => {
  const before = structuredClone(object);
  internConditions(object);
  expect(object).toEqual(before);
});
