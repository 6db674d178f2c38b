import { expect, test } from "vitest";
import { RENEW_AFTER_MS } from "../admin-kubeconfig/kubeconfig.ts";
import { BINDING_CHECK_MS, delayInitialCheck } from "./controller.ts";

const OLD = RENEW_AFTER_MS - BINDING_CHECK_MS;

test.each([
  { name: "a small fleet is checked within a second", renewInMs: OLD, clusters: 10, random: 1, delay: 500 },
  { name: "a large one is spread", renewInMs: OLD, clusters: 10_000, random: 0.5, delay: 250_000 },
  {
    name: "never over more than a round",
    renewInMs: OLD,
    clusters: 1_000_000,
    random: 1,
    delay: BINDING_CHECK_MS,
  },
  {
    name: "what was just issued is bound at once",
    renewInMs: OLD + 1,
    clusters: 10_000,
    random: 1,
    delay: 0,
  },
])("the initial check of a tenant's API: $name", ({ renewInMs, clusters, random, delay }) => {
  expect(delayInitialCheck(renewInMs, clusters, random)).toBe(delay);
});
