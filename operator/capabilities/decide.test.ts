import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { NO_OTHER_LABEL } from "../../shared/crd/node-metadata.ts";
import {
  classCapabilitiesSchema,
  type PlanCapabilities,
  planCapabilitiesSchema,
} from "../../shared/crd/published-config.ts";
import type { ClassCapabilities } from "../capi/cluster-class.ts";
import { makeClass, settings } from "../testing.ts";
import { decideCapabilities, type Installation } from "./decide.ts";

const everything: Installation = {
  settings: { ...settings, syncedNodeLabels: /.*/ },
  packages: { production: { controlPlaneReplicas: 3 } },
  classes: new Map([["marina-system/standard-v1", { ...makeClass(), workerHealthCheck: { checks: {} } }]]),
  takesTaints: true,
};
const withClass = (variables: string[]): Partial<Installation> => ({
  classes: new Map([["marina-system/standard-v1", makeClass(variables)]]),
});

const withLimits = (limits: Partial<ClassCapabilities>): Partial<Installation> => ({
  classes: new Map([["marina-system/standard-v1", { ...makeClass(), ...limits }]]),
});
const withMost = (maxAuthorizedCIDRs: number) => withLimits({ maxAuthorizedCIDRs });
const withIPv4Alone = (...platformCIDRs: string[]): Partial<Installation> => ({
  settings: { ...everything.settings, platformCIDRs },
  ...withLimits({ maxAuthorizedCIDRs: 60, hasIPv4CIDRsAlone: true }),
});

test("a plan has what its class and the platform have", () => {
  const { default: byDefault, production } = decideCapabilities(everything);
  expect(byDefault).toEqual({
    class: "standard-v1",
    apiServerRateLimit: true,
    authorizedCIDRs: true,
    authorizedIPv6CIDRs: true,
    privateEndpoint: true,
    nodeLabels: true,
    nodeTaints: true,
    healthChecks: true,
    zones: { no: "The cluster class standard-v1 does not support zones." },
    controlPlaneReplicas: [1, 3, 5],
  });
  expect(production?.controlPlaneReplicas).toEqual([3]);
});

test.each<[string, Partial<Installation>, object]>([
  [
    "nothing of a class without variables and without the gate",
    { ...withClass([]), takesTaints: false },
    {
      apiServerRateLimit: { no: expect.stringContaining("a rate limit of the API server") },
      authorizedCIDRs: { no: expect.stringContaining("authorized CIDRs") },
      privateEndpoint: { no: expect.stringContaining("a private endpoint") },
      nodeTaints: { no: "The platform cannot set taints of nodes." },
      healthChecks: { no: expect.stringContaining("unhealthy nodes") },
    },
  ],
  [
    "taints by a variable without the gate",
    { ...withClass(["nodeTaints"]), takesTaints: false },
    { nodeTaints: true },
  ],
  [
    "no lists where the platform has not named its own networks",
    { settings: { ...everything.settings, platformCIDRs: [] } },
    { authorizedCIDRs: { no: "The platform cannot limit who reaches the API endpoint." } },
  ],
  [
    "a list as long as its class takes, without the networks of platform and workers",
    withMost(60),
    { authorizedCIDRs: true, maxAuthorizedCIDRs: 59 - settings.platformCIDRs.length },
  ],
  [
    "no networks of IPv6 where its class has none",
    withIPv4Alone(...settings.platformCIDRs),
    {
      authorizedCIDRs: true,
      authorizedIPv6CIDRs: {
        no: "The cluster class standard-v1 does not support IPv6 networks in authorized CIDRs.",
      },
    },
  ],
  [
    "no lists where its class has none of the families of the platform's networks",
    withIPv4Alone("2001:db8::/64"),
    { authorizedCIDRs: { no: "The platform cannot limit who reaches the API endpoint." } },
  ],
  [
    "a list as long as its class takes, without those of the platform's networks that the class has",
    withIPv4Alone("2001:db8::/64", "192.0.2.0/24"),
    { authorizedCIDRs: true, maxAuthorizedCIDRs: 58 },
  ],
  [
    "no list where those fill it alone",
    withMost(1),
    { authorizedCIDRs: { no: "The platform cannot limit who reaches the API endpoint." } },
  ],
  [
    "no labels where none beyond the usual ones are synchronized",
    { settings: { ...everything.settings, syncedNodeLabels: NO_OTHER_LABEL } },
    { nodeLabels: { no: expect.stringContaining("labels") } },
  ],
])("a plan has %s", (_, change, expected) => {
  expect(decideCapabilities({ ...everything, ...change }).default).toMatchObject(expected);
});

test.each<[string, keyof PlanCapabilities, Partial<Installation>]>([
  ["taints of a platform that did not answer", "nodeTaints", { takesTaints: undefined }],
  [
    "labels where some alone are synchronized",
    "nodeLabels",
    { settings: { ...everything.settings, syncedNodeLabels: /^example\.com\// } },
  ],
  ["limits that no list reaches", "maxAuthorizedCIDRs", withMost(1000)],
  ["families of lists that cannot be had", "authorizedIPv6CIDRs", withClass([])],
  [
    "lengths of lists that cannot be had",
    "maxAuthorizedCIDRs",
    { ...withMost(60), settings: { ...everything.settings, platformCIDRs: [] } },
  ],
])("%s are not known, and left out", (_, name, change) => {
  expect(decideCapabilities({ ...everything, ...change }).default).not.toHaveProperty(name);
});

test.each<[string, Partial<Installation>, string]>([
  [
    "is not installed",
    { classes: new Map() },
    "The cluster class standard-v1 of the plan default is not installed.",
  ],
  [
    "is not named",
    { packages: { dev: { controlPlaneReplicas: 1 } } },
    "The platform has no cluster class for the plan dev.",
  ],
])("a plan whose class %s says so, and has nothing else", (_, change, reason) => {
  const published = classCapabilitiesSchema.parse(decideCapabilities({ ...everything, ...change }));
  expect(Object.values(published)).toContainEqual({ class: { no: reason } });
});

test("the documentation names each capability, and no other one", () => {
  const document = readFileSync("docs/operators/cluster-class.md", "utf8");
  const [, section = ""] = document.split("### What a plan can do");
  const [table = ""] = section.split("\n###");
  const named = [...table.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name = ""]) => name);
  expect(named.sort((left, right) => left.localeCompare(right))).toEqual(
    Object.keys(planCapabilitiesSchema.shape).sort((left, right) => left.localeCompare(right)),
  );
});
