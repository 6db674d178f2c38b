import type { Context } from "hono";
import { expect, test } from "vitest";
import type { HttpEnv } from "../env.ts";
import { createProxyCheck, createSourceFinder, resolveSource, warnOfUntrusted } from "./source-address.ts";

const proxies = createProxyCheck(["10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48"]);
const noProxies = createProxyCheck([]);

test.each([
  ["no header", "203.0.113.9", undefined, "203.0.113.9"],
  ["a header from a peer that is no proxy", "203.0.113.9", "198.51.100.1", "203.0.113.9"],
  ["one proxy", "10.1.2.3", "198.51.100.1", "198.51.100.1"],
  ["two proxies", "10.1.2.3", "198.51.100.1, 192.0.2.7", "198.51.100.1"],
  ["what the client itself wrote is ignored", "10.1.2.3", "127.0.0.1, 198.51.100.1", "198.51.100.1"],
  ["only proxies", "10.1.2.3", "10.9.9.9, 10.8.8.8", "10.9.9.9"],
  ["an invalid hop ends the search", "10.1.2.3", "198.51.100.1, unknown, 10.8.8.8", "10.8.8.8"],
  ["an octal address ends the search", "10.1.2.3", "010.9.9.9", "10.1.2.3"],
  ["an empty header", "10.1.2.3", "", "10.1.2.3"],
  ["IPv4 seen by a dual-stack socket", "::ffff:10.1.2.3", "::ffff:198.51.100.1", "198.51.100.1"],
  ["IPv6", "2001:db8:1::5", "2001:db8:2::9", "2001:db8:2::9"],
])("source address: %s", (_, peer, header, expected) => {
  expect(resolveSource(peer, header, proxies)).toBe(expected);
});

test("a peer that is not trusted and sends X-Forwarded-For is named in the log, once a minute", () => {
  const warned: unknown[] = [];
  let nowMs = 0;
  const warn = warnOfUntrusted({ warn: (fields: unknown) => void warned.push(fields) }, () => nowMs);
  const find = createSourceFinder(["192.0.2.7"], warn);
  const from = (peer: string, forwardedFor?: string) =>
    find({
      env: { incoming: { socket: { remoteAddress: peer } } },
      req: { header: () => forwardedFor },
    } as unknown as Context<HttpEnv>);
  from("10.1.2.3");
  from("192.0.2.7", "198.51.100.1");
  expect(warned).toEqual([]);
  expect(from("10.1.2.3", "198.51.100.1")).toBe("10.1.2.3");
  from("10.1.2.3", "198.51.100.2");
  expect(warned).toEqual([{ peer: "10.1.2.3" }]);
  nowMs += 60_000;
  from("10.1.2.4", "198.51.100.1");
  expect(warned).toEqual([{ peer: "10.1.2.3" }, { peer: "10.1.2.4" }]);
});

test("without configured proxies X-Forwarded-For is ignored", () => {
  expect(resolveSource("10.1.2.3", "198.51.100.1", noProxies)).toBe("10.1.2.3");
});
