import { describe, expect, test } from "vitest";
import { findUnsupportedOfPolicy, type NetworkPatch, replacePolicy } from "./changes.ts";
import { type SetNetworkPolicyBody, setNetworkPolicyBody } from "./schema.ts";

const LIMIT = { max_connections_per_second: 10, burst: 20 };
const CURRENT = {
  authorizedCIDRs: ["203.0.113.0/24", "2001:db8::/32"],
  apiServerRateLimit: { maxConnectionsPerSecond: 10, burst: 20 },
};

describe("setting a network policy replaces it outright", () => {
  test.each<[string, SetNetworkPolicyBody, NetworkPatch]>([
    [
      "the same again changes nothing",
      { authorized_cidrs: CURRENT.authorizedCIDRs, api_server_rate_limit: LIMIT },
      {},
    ],
    [
      "another list replaces the whole list",
      { authorized_cidrs: ["198.51.100.0/24"], api_server_rate_limit: LIMIT },
      { authorizedCIDRs: ["198.51.100.0/24"] },
    ],
    [
      "another order is another list",
      { authorized_cidrs: CURRENT.authorizedCIDRs.toReversed(), api_server_rate_limit: LIMIT },
      { authorizedCIDRs: CURRENT.authorizedCIDRs.toReversed() },
    ],
    [
      "an empty list is stored",
      { authorized_cidrs: [], api_server_rate_limit: LIMIT },
      { authorizedCIDRs: [] },
    ],
    [
      "blocks with host bits, IPv4-mapped ones and repeated ones are masked and stored once",
      {
        authorized_cidrs: ["10.0.0.5/8", "::ffff:203.0.113.9/120", "10.0.0.0/8", "10.0.0.5/8"],
        api_server_rate_limit: LIMIT,
      },
      { authorizedCIDRs: ["10.0.0.0/8", "203.0.113.0/24"] },
    ],
    [
      "the same blocks in another form are no other list",
      {
        authorized_cidrs: ["203.0.113.9/24", "2001:DB8::1/32", "203.0.113.0/24"],
        api_server_rate_limit: LIMIT,
      },
      {},
    ],
    [
      "a rate limit that is not sent is removed",
      { authorized_cidrs: CURRENT.authorizedCIDRs },
      { apiServerRateLimit: null },
    ],
    [
      "another rate limit is written whole",
      { authorized_cidrs: CURRENT.authorizedCIDRs, api_server_rate_limit: { ...LIMIT, burst: 30 } },
      { apiServerRateLimit: { maxConnectionsPerSecond: 10, burst: 30 } },
    ],
  ])("%s", (_, body, patch) => {
    expect(replacePolicy(CURRENT, body)).toEqual(patch);
  });

  test("the defaults are what a cluster without a policy has", () => {
    expect(replacePolicy(undefined, { authorized_cidrs: [] })).toEqual({});
  });
});

describe("a class that takes lists of two blocks", () => {
  const capabilities = { class: "short", authorizedCIDRs: true as const, maxAuthorizedCIDRs: 2 };
  const [first, second, third] = ["198.51.100.0/24", "203.0.113.0/24", "192.0.2.0/24"] as const;

  test.each<[string, string[], string[], number]>([
    ["takes two", [], [first, second], 0],
    ["refuses three", [], [first, second, third], 1],
    ["refuses another one to two", [first, second], [first, second, third], 1],
    [
      "lets a longer list of before become shorter",
      [first, second, third, "2001:db8::/32"],
      [first, second, third],
      0,
    ],
  ])("%s", (_, before, authorizedCIDRs, refusals) => {
    const details = findUnsupportedOfPolicy({ authorizedCIDRs: before }, { authorizedCIDRs }, capabilities);
    expect(details).toHaveLength(refusals);
    for (const detail of details)
      expect(detail).toMatchObject({
        field: "authorized_cidrs",
        code: "unsupported",
        message: expect.stringContaining("2 or fewer different blocks, and has"),
      });
  });
});

describe("a class whose infrastructure leaves IPv6 out", () => {
  const reason = "The cluster class old does not support IPv6 networks in authorized CIDRs.";
  const capabilities = { class: "old", authorizedCIDRs: true as const, authorizedIPv6CIDRs: { no: reason } };
  const [ipv4, ipv6] = ["198.51.100.0/24", "2001:db8::/32"] as const;

  test.each<[string, string[], string[], number]>([
    ["takes IPv4", [], [ipv4], 0],
    ["refuses IPv6", [], [ipv4, ipv6], 1],
    ["refuses another one beside IPv6", [ipv6], [ipv4, ipv6], 1],
    ["lets IPv6 of before be removed", [ipv4, ipv6], [ipv4], 0],
  ])("%s", (_, before, authorizedCIDRs, refusals) => {
    const details = findUnsupportedOfPolicy({ authorizedCIDRs: before }, { authorizedCIDRs }, capabilities);
    expect(details).toHaveLength(refusals);
    for (const detail of details) {
      expect(detail).toMatchObject({ field: "authorized_cidrs", code: "unsupported" });
      expect(detail.message).toContain(`no block of IPv6, as ${ipv6}`);
      expect(detail.message).toContain(reason);
    }
  });
});

describe("a body is stored exactly or refused", () => {
  test.each([
    [["0.0.0.0/0"]],
    [["203.0.113.7/32", "2001:db8::/32", "::/0"]],
    [["2001:DB8:0:0::/64"]],
    [["10.0.0.5/8", "10.0.0.0/8", "::ffff:10.0.0.0/104", "10.0.0.5/8"]],
    [[]],
  ])("%j is taken as it is", (blocks) => {
    expect(setNetworkPolicyBody.parse({ authorized_cidrs: blocks }).authorized_cidrs).toEqual(blocks);
  });

  test.each([
    ["a bare address", "203.0.113.7", "invalid_cidr"],
    ["a bare IPv6 address", "2001:db8::1", "invalid_cidr"],
    ["a prefix beyond the address", "203.0.113.0/33", "invalid_cidr"],
    ["a prefix with a leading zero", "203.0.113.0/024", "invalid_cidr"],
    ["a netmask", "203.0.113.0/255.255.255.0", "invalid_cidr"],
    ["a zone", "fe80::%eth0/64", "invalid_cidr"],
    ["blanks", " 203.0.113.0/24", "invalid_cidr"],
    ["nothing", "", "invalid_cidr"],
    ["a long text", "x".repeat(5000), "invalid_cidr"],
  ])("%s is refused and named", (_, block, code) => {
    const parsed = setNetworkPolicyBody.safeParse({ authorized_cidrs: ["198.51.100.0/24", block] });
    const [issue] = parsed.error?.issues ?? [];
    expect(issue).toMatchObject({ path: ["authorized_cidrs"], params: { code } });
    expect(issue?.message).toContain(block.slice(0, 60));
    expect(issue?.message.length).toBeLessThan(200);
  });
});
