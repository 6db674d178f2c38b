import { describe, expect, test } from "vitest";
import { type FailedDelivery, planRetry } from "./schedule.ts";

const FIRST: FailedDelivery = { attempts: 1, maxAttempts: 8, ageSeconds: 0, isThrottled: false };
const HOUR = 3600;

describe("a failed attempt is repeated", () => {
  test.each([
    [1, 5],
    [2, 300],
    [3, 1800],
    [4, 2 * HOUR],
    [5, 5 * HOUR],
    [6, 10 * HOUR],
    [7, 10 * HOUR],
  ])("after number %i: %i s, a fifth more or less", (attempts, seconds) => {
    expect(planRetry({ ...FIRST, attempts }, 0.5)).toBeCloseTo(seconds);
    expect(planRetry({ ...FIRST, attempts }, 0)).toBeCloseTo(seconds * 0.8);
    expect(planRetry({ ...FIRST, attempts }, 1)).toBeCloseTo(seconds * 1.2);
  });

  test.each<[string, Partial<FailedDelivery>]>([
    ["after the eighth", { attempts: 8 }],
    ["after the only one of a redelivery", { maxAttempts: 1 }],
    [
      "where the endpoint gets one attempt a minute and the delivery is older than the whole schedule",
      { isThrottled: true, ageSeconds: 56 * HOUR },
    ],
  ])("never %s", (_, failed) => {
    expect(planRetry({ ...FIRST, ...failed }, 0.5)).toBeUndefined();
  });

  test.each<[string, Partial<FailedDelivery>]>([
    [
      "a paused endpoint gets a delivery again within the schedule",
      { isThrottled: true, ageSeconds: 50 * HOUR },
    ],
    ["a delivery that was postponed is repeated, however old", { ageSeconds: 70 * HOUR }],
  ])("%s", (_, failed) => {
    expect(planRetry({ ...FIRST, ...failed }, 0.5)).toBeCloseTo(5);
  });
});

test.each([
  [0, 300],
  [-1, 300],
  [100, 300],
  [400, 400],
  [600, 600],
  [99_999_999, 600],
  [undefined, 300],
])("Retry-After of %s s makes a delay of 300 s one of %i s", (retryAfterSeconds, seconds) => {
  expect(planRetry({ ...FIRST, attempts: 2, retryAfterSeconds }, 0.5)).toBeCloseTo(seconds);
});
