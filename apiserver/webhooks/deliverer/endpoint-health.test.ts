import { describe, expect, test } from "vitest";
import { classifyFailure, type EndpointAttempt, type EndpointHealth, nextHealth } from "./endpoint-health.ts";

const DAY_MS = 24 * 3_600_000;
const NOW_MS = 10 * DAY_MS;
const HEALTHY: EndpointHealth = {
  consecutiveFailures: 0,
  exhaustedEvents: 0,
  failingSinceMs: null,
  pausedUntilMs: null,
  failureAuditedAtMs: null,
  lastAttemptAtMs: null,
  lastStatusCode: null,
};
const FAILING: EndpointHealth = {
  ...HEALTHY,
  consecutiveFailures: 9,
  exhaustedEvents: 1,
  failingSinceMs: 7,
  failureAuditedAtMs: 8,
};
const FAILED: EndpointAttempt = {
  trigger: "event",
  isSuccess: false,
  isLast: false,
  atMs: NOW_MS - 1,
  statusCode: 500,
};
const LAST = { lastAttemptAtMs: NOW_MS - 1, lastStatusCode: 500 };

describe("an attempt", () => {
  test.each<[string, EndpointHealth, Partial<EndpointAttempt>, EndpointHealth]>([
    [
      "that fails starts the clock",
      HEALTHY,
      {},
      { ...HEALTHY, ...LAST, consecutiveFailures: 1, failingSinceMs: NOW_MS - 1 },
    ],
    [
      "that fails as the tenth pauses the endpoint for a minute",
      FAILING,
      {},
      { ...FAILING, ...LAST, consecutiveFailures: 10, pausedUntilMs: NOW_MS + 60_000 },
    ],
    [
      "that fails as the last of its event is counted as that",
      { ...FAILING, consecutiveFailures: 3 },
      { isLast: true, trigger: "recovery" },
      { ...FAILING, ...LAST, consecutiveFailures: 4, exhaustedEvents: 2 },
    ],
    [
      "of a test does not count against the endpoint",
      FAILING,
      { trigger: "test", isLast: true },
      { ...FAILING, ...LAST },
    ],
    [
      "of a redelivery does not count against the endpoint",
      FAILING,
      { trigger: "redelivery", isLast: true },
      { ...FAILING, ...LAST },
    ],
    [
      "of a redelivery to an endpoint that fails makes the next one wait for a minute too",
      { ...FAILING, consecutiveFailures: 10, pausedUntilMs: 1 },
      { trigger: "redelivery", isLast: true },
      { ...FAILING, ...LAST, consecutiveFailures: 10, pausedUntilMs: NOW_MS + 60_000 },
    ],
    [
      "that succeeds clears all failures",
      { ...FAILING, pausedUntilMs: NOW_MS },
      { isSuccess: true, statusCode: 204, trigger: "redelivery" },
      { ...HEALTHY, ...LAST, lastStatusCode: 204 },
    ],
    [
      "that began before the last one leaves its time and status as they are",
      { ...HEALTHY, lastAttemptAtMs: NOW_MS, lastStatusCode: 204 },
      {},
      {
        ...HEALTHY,
        lastAttemptAtMs: NOW_MS,
        lastStatusCode: 204,
        consecutiveFailures: 1,
        failingSinceMs: NOW_MS - 1,
      },
    ],
  ])("%s", (_, health, attempt, expected) => {
    expect(nextHealth(health, { ...FAILED, ...attempt }, NOW_MS)).toEqual(expected);
  });
});

test.each([
  ["leave", "that does not fail", {}],
  [
    "leave",
    "that fails for less than four days",
    { failingSinceMs: NOW_MS - 4 * DAY_MS + 1, exhaustedEvents: 9 },
  ],
  ["record", "that fails for four days", { failingSinceMs: NOW_MS - 4 * DAY_MS }],
  ["leave", "that was recorded", { failingSinceMs: NOW_MS - 4 * DAY_MS, failureAuditedAtMs: 1 }],
  ["disable", "that fails for five days", { failingSinceMs: NOW_MS - 5 * DAY_MS, exhaustedEvents: 2 }],
  [
    "leave",
    "that failed for one event only",
    { failingSinceMs: NOW_MS - 9 * DAY_MS, exhaustedEvents: 1, failureAuditedAtMs: 1 },
  ],
] as const)("to %s an endpoint %s", (consequence, _, health) => {
  expect(classifyFailure({ ...HEALTHY, ...health }, NOW_MS)).toBe(consequence);
});
