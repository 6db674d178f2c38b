import { describe, expect, test } from "vitest";
import { type AccessRules, createAdmission } from "./admission.ts";

const rules = (changes: Partial<AccessRules>): AccessRules => ({
  trusted: ["127.0.0.1/32", "10.64.3.0/24"],
  allowed: undefined,
  limit: undefined,
  ...changes,
});

describe("who may connect", () => {
  test.each([
    { name: "without a list any source may", allowed: undefined, source: "127.0.0.2", result: "admitted" },
    { name: "a listed source may", allowed: ["127.0.0.2/32"], source: "127.0.0.2", result: "admitted" },
    {
      name: "a source in a listed network may",
      allowed: ["10.0.0.0/8"],
      source: "10.9.8.7",
      result: "admitted",
    },
    { name: "another source may not", allowed: ["127.0.0.2/32"], source: "127.0.0.3", result: "refused" },
    { name: "an empty list refuses", allowed: [], source: "127.0.0.2", result: "refused" },
    { name: "the platform may in spite of it", allowed: [], source: "127.0.0.1", result: "admitted" },
    { name: "a worker may in spite of it", allowed: [], source: "10.64.3.20", result: "admitted" },
    { name: "a listed IPv6 network may", allowed: ["fd00::/8"], source: "fd12::1", result: "admitted" },
    {
      name: "an unlisted IPv6 source may not",
      allowed: ["fd00::/8"],
      source: "2001:db8::1",
      result: "refused",
    },
    {
      name: "an IPv4 source in IPv6 form counts as IPv4",
      allowed: ["127.0.0.2/32"],
      source: "::ffff:127.0.0.2",
      result: "admitted",
    },
  ])("$name", ({ allowed, source, result }) => {
    expect(createAdmission(rules({ allowed }), 0).admit(source, 0)).toBe(result);
  });

  test("an invalid CIDR is an error, not open access", () => {
    expect(() => createAdmission(rules({ allowed: ["nonsense"] }), 0)).toThrow("address");
  });
});

describe("how often", () => {
  const limit = { maxConnectionsPerSecond: 2, burst: 3 };

  test("the burst passes, the rest is limited, and tokens refill every second", () => {
    const admission = createAdmission(rules({ limit }), 0);
    const at = (ms: number) => admission.admit("127.0.0.2", ms);
    expect([at(0), at(0), at(0), at(0)]).toEqual(["admitted", "admitted", "admitted", "limited"]);
    expect([at(499), at(500), at(501)]).toEqual(["limited", "admitted", "limited"]);
    expect([at(60_000), at(60_000), at(60_000), at(60_000)]).toEqual([
      "admitted",
      "admitted",
      "admitted",
      "limited",
    ]);
  });

  test("the platform takes no token and is never limited", () => {
    const admission = createAdmission(rules({ limit }), 0);
    for (let i = 0; i < 10; i++) expect(admission.admit("127.0.0.1", 0)).toBe("admitted");
    expect(admission.admit("127.0.0.2", 0)).toBe("admitted");
  });

  test("a refused source takes no token", () => {
    const admission = createAdmission(rules({ limit, allowed: ["127.0.0.2/32"] }), 0);
    for (let i = 0; i < 10; i++) expect(admission.admit("127.0.0.3", 0)).toBe("refused");
    expect(admission.admit("127.0.0.2", 0)).toBe("admitted");
  });
});
