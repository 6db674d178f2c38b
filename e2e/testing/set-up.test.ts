import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setUp } from "./set-up.ts";

const order: string[] = [];

describe("what is set up", () => {
  // Hooks after the tests run in the reverse order: this one is the last.
  afterAll(() => void order.push(`hook after ${started.answer}`));
  const started = setUp(async () => {
    order.push("start");
    return { answer: 42, close: async () => void order.push(`close ${started.answer}`) };
  });
  beforeAll(() => void order.push(`hook before ${started.answer}`));

  test("is there in hooks and tests", () => {
    expect(order).toEqual(["start", "hook before 42"]);
    expect(started.answer).toBe(42);
  });
});

test("what is set up is closed once, after all hooks of its block", () => {
  expect(order.slice(2)).toEqual(["hook after 42", "close 42"]);
});
