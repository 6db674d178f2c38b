import { afterAll, beforeAll, describe, test } from "vitest";
import { clusterAccessDefinition } from "./definitions.ts";
import {
  boundCases,
  clusterAccessSpec,
  expectNameRules,
  expectSameAnswer,
  long,
  openTestApi,
  type SpecCase,
  type TestApi,
} from "./testing.ts";

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const access = (change: object) => ({ ...clusterAccessSpec, ...change });
const clusterAccessCases: SpecCase[] = [
  { title: "a whole access", spec: clusterAccessSpec },
  ...boundCases("ttlSeconds", 600, 604_800, clusterAccessSpec),
  { title: "an empty subject", spec: access({ subject: "" }), refused: "spec.subject" },
  {
    title: "a subject of the system",
    spec: access({ subject: "system:admin" }),
    refused: "spec.subject in body should match",
  },
  {
    title: "a request that is a private key",
    spec: access({ csr: "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n" }),
    refused: "spec.csr in body should match",
  },
  {
    title: "a request of 8193 characters",
    spec: access({ csr: long(8193) }),
    refused: "spec.csr: Too long: may not be more than 8192 bytes",
  },
];

describe("a ClusterAccess with", () => {
  test.each(clusterAccessCases)("$title", (one) => expectSameAnswer(api, clusterAccessDefinition, one));
});

test("the name of a ClusterAccess has at most 40 characters and no dot", () =>
  expectNameRules(api, clusterAccessDefinition, clusterAccessSpec));
