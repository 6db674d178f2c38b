import { describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterAccessDefinition } from "./definitions.ts";
import {
  bothReturn,
  boundCases,
  clusterAccessSpec,
  long,
  nameRejections,
  openTestApi,
  type SpecCase,
  validateNames,
  validateSpec,
} from "./testing.ts";

const api = setUp(openTestApi);

const access = (change: object) => ({ ...clusterAccessSpec, ...change });
const clusterAccessCases: SpecCase[] = [
  { title: "a complete access", spec: clusterAccessSpec },
  ...boundCases("ttlSeconds", 600, 604_800, clusterAccessSpec),
  { title: "an empty subject", spec: access({ subject: "" }), rejected: "spec.subject" },
  {
    title: "a subject of the system",
    spec: access({ subject: "system:admin" }),
    rejected: "spec.subject in body should match",
  },
  {
    title: "a request that is a private key",
    spec: access({ csr: "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n" }),
    rejected: "spec.csr in body should match",
  },
  {
    title: "a request of 8193 characters",
    spec: access({ csr: long(8193) }),
    rejected: "spec.csr: Too long: may not be more than 8192 bytes",
  },
];

describe("a ClusterAccess with", () => {
  test.each(clusterAccessCases)("$title", async ({ spec, rejected }) => {
    expect(await validateSpec(api, clusterAccessDefinition, spec)).toEqual(bothReturn(rejected));
  });
});

test("the name of a ClusterAccess has at most 40 characters and no dot", async () => {
  expect(await validateNames(api, clusterAccessDefinition, clusterAccessSpec)).toEqual(nameRejections);
});
