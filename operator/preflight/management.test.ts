import { expect, test } from "vitest";
import { parseSubnetRange } from "../subnets/range.ts";
import { checkRanges, checkSubnets } from "./management.ts";

const settings = {
  subnetRange: parseSubnetRange("10.64.0.0/16"),
  clusterNetwork: { pods: ["192.168.0.0/16", "fd00::/64"], services: ["10.128.0.0/12"] },
};

test.each<[string, string[], string[], string, RegExp]>([
  ["free", ["10.96.0.0/16"], ["10.244.0.0/24"], "ok", /do not overlap the Services and Pods/],
  ["without podCIDRs", ["10.96.0.0/16"], [], "unknown", /10\.96\.0\.0\/16.* no podCIDRs: compare/],
  [
    "nodes in the Services here",
    ["10.0.0.0/8"],
    [],
    "warning",
    /10\.64\.0\.0\/16 of nodes overlaps 10\.0\.0\.0\/8.*Set MARINA_SUBNET_RANGE, MARINA_SERVICE_CIDRS to/,
  ],
  ["pods in the Pods here", [], ["192.168.3.0/24"], "warning", /of pods overlaps.*Set MARINA_POD_CIDRS to/],
  ["Services in the Pods here", [], ["10.129.0.0/24"], "warning", /of Services.*Set MARINA_SERVICE_CIDRS to/],
  ["IPv6", ["fd00::/112"], ["10.244.0.0/24"], "warning", /fd00::\/64 of pods overlaps fd00::\/112/],
])("ranges: %s", (_, services, pods, state, text) => {
  const check = checkRanges(settings, { services, pods });
  expect(check).toMatchObject({ about: "ranges", state, text: expect.stringMatching(text) });
});

test.each<[number, string, RegExp]>([
  [0, "ok", /^0 of the 256 networks of nodes in 10\.64\.0\.0\/16 are taken\.$/],
  [230, "ok", /^230 of/],
  [231, "warning", /soon no cluster can be made\. Set MARINA_SUBNET_RANGE/],
  [256, "failed", /: no cluster can be made\. Set MARINA_SUBNET_RANGE/],
])("with %i subnets taken the state is %s", (taken, state, text) => {
  const check = checkSubnets(settings.subnetRange, taken);
  expect(check).toMatchObject({ about: "subnets", state, text: expect.stringMatching(text) });
});
