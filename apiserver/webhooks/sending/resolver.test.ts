import { afterAll, beforeAll, expect, test } from "vitest";
import { tryWithLongerDeadlines } from "../../../shared/program/testing-deadlines.ts";
import { classifyError } from "./error-class.ts";
import { createResolver, type Resolver } from "./resolver.ts";
import { type DnsServer, startDnsServer } from "./testing-dns.ts";

const FIFTY = Array.from({ length: 50 }, (_, index) => `8.8.4.${index}`);

let dns: DnsServer;
let resolver: Resolver;
const resolveWithin = (name: string, timeoutMs: number) =>
  createResolver({ servers: [dns.address], timeoutMs }).resolve(name);

beforeAll(async () => {
  dns = await startDnsServer({
    "both.example.com": ["8.8.8.8", "2606:4700::1"],
    "v6.example.com": ["2606:4700::2"],
    "fifty.example.com": FIFTY,
    "empty.example.com": [],
    "failing.example.com": "failure",
    "silent.example.com": "silence",
    "half.example.com": ["8.8.8.8"],
    "AAAA half.example.com": "silence",
  });
  resolver = createResolver({ servers: [dns.address], timeoutMs: 20_000 });
});

afterAll(() => dns.close());

test("a name has all addresses of both families", async () => {
  expect(await resolver.resolve("both.example.com")).toEqual(["8.8.8.8", "2606:4700::1"]);
  expect(await resolver.resolve("v6.example.com")).toEqual(["2606:4700::2"]);
  expect((await resolver.resolve("fifty.example.com")).toSorted()).toEqual(FIFTY.toSorted());
});

test("the addresses of one family are given when the other query gets no answer", async () => {
  const addresses = await tryWithLongerDeadlines(
    (timeoutMs) => resolveWithin("half.example.com", timeoutMs).catch(() => []),
    ({ length }) => length === 0,
  );
  expect(addresses).toEqual(["8.8.8.8"]);
});

test("localhost and the names below it are the loopback addresses, without a query", async () => {
  for (const name of ["localhost", "hooks.localhost", "localhost."])
    expect(await resolver.resolve(name)).toEqual(["127.0.0.1", "::1"]);
  expect(dns.queries.filter((name) => name.includes("localhost"))).toEqual([]);
});

test.each([
  ["absent.example.com", "there is no such name", 20_000],
  ["empty.example.com", "it has no address", 20_000],
  ["failing.example.com", "the DNS server failed", 20_000],
  ["silent.example.com", "the DNS server did not respond in time", 500],
])("%s fails with the class dns and a reason", async (name, reason, timeoutMs) => {
  const error = await resolveWithin(name, timeoutMs).catch((cause: unknown) => cause);
  expect(classifyError(error)).toBe("dns");
  expect((error as Error).message).toBe(`the name could not be resolved: ${reason}`);
});

test.each(["a..b", `${"x".repeat(300)}.com`, "*.example.com"])(
  "%s, which is no name that exists, fails with the class dns",
  async (name) => {
    const error = await resolver.resolve(name).catch((cause: unknown) => cause);
    expect(classifyError(error)).toBe("dns");
  },
);
