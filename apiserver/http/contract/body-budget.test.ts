import { expect, test } from "vitest";
import { ApiError } from "../errors.ts";
import { createBodyBudget } from "./body-budget.ts";

test("bytes beyond the budget of all bodies are 503 with Retry-After, until another body is closed", () => {
  const budget = createBodyBudget(100);
  const [first, second] = [budget.open(), budget.open()];
  first.add(60);
  second.add(40);
  expect(() => second.add(1)).toThrow(
    expect.objectContaining({ status: 503, retryAfterSeconds: 1 }) as unknown as ApiError,
  );
  first.close();
  second.add(60);
  expect(() => second.add(1)).toThrow(ApiError);
});

test("a body that is closed twice gives back once what it counted", () => {
  const budget = createBodyBudget(100);
  const [first, second] = [budget.open(), budget.open()];
  first.add(50);
  second.add(50);
  first.close();
  first.close();
  expect(() => second.add(51)).toThrow(ApiError);
});
