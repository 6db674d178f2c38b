import { describe, expect, test } from "vitest";
import { createAddressGuard } from "./address-guard.ts";

/** Addresses of each special block: its first and last one, and known targets in it. */
const REFUSED = {
  "this network": ["0.0.0.0", "0.0.0.1", "0.255.255.255"],
  "private 10/8": ["10.0.0.0", "10.0.0.1", "10.96.0.1", "10.244.1.7", "10.255.255.255"],
  "shared 100.64/10": ["100.64.0.0", "100.100.100.200", "100.127.255.255"],
  loopback: ["127.0.0.0", "127.0.0.1", "127.0.0.53", "127.1.2.3", "127.255.255.255"],
  "Azure metadata": ["168.63.129.16"],
  "link-local": ["169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.20.10", "169.254.255.255"],
  "private 172.16/12": ["172.16.0.0", "172.17.0.1", "172.20.10.2", "172.31.255.255"],
  "protocol assignments": ["192.0.0.0", "192.0.0.170", "192.0.0.192", "192.0.0.255"],
  "documentation 192.0.2/24": ["192.0.2.0", "192.0.2.1", "192.0.2.255"],
  "6to4 relays": ["192.88.99.0", "192.88.99.1", "192.88.99.255"],
  "private 192.168/16": ["192.168.0.0", "192.168.0.1", "192.168.1.254", "192.168.255.255"],
  benchmarking: ["198.18.0.0", "198.19.0.1", "198.19.255.255"],
  "documentation 198.51.100/24": ["198.51.100.0", "198.51.100.7", "198.51.100.255"],
  "documentation 203.0.113/24": ["203.0.113.0", "203.0.113.7", "203.0.113.255"],
  multicast: ["224.0.0.0", "224.0.0.251", "239.255.255.250", "239.255.255.255"],
  reserved: ["240.0.0.0", "250.1.2.3", "255.255.255.254", "255.255.255.255"],
  "unspecified and loopback of IPv6": ["::", "::1", "0:0:0:0:0:0:0:1", "0000:0000::0001"],
  "IPv4-compatible": ["::127.0.0.1", "::10.0.0.1", "::8.8.8.8", "::7f00:1"],
  "IPv4-mapped": [
    "::ffff:127.0.0.1",
    "::FFFF:127.0.0.1",
    "::ffff:7f00:1",
    "0:0:0:0:0:ffff:7f00:0001",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::ffff:192.168.1.1",
    "::ffff:172.16.0.1",
    "::ffff:100.64.0.1",
    "::ffff:0.0.0.0",
    "::ffff:168.63.129.16",
  ],
  "IPv4-translated": ["::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"],
  "private IPv4 in NAT64": [
    "64:ff9b::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::192.168.0.1",
    "64:ff9b::168.63.129.16",
    "64:ff9b::",
  ],
  "local NAT64": ["64:ff9b:1::", "64:ff9b:1::808:808", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
  "NAT64 with bits between": ["64:ff9b::1:808:808", "64:ff9b:0:1::808:808"],
  "discard only": ["100::", "100::1", "100::ffff:ffff:ffff:ffff", "100:0:0:1::1"],
  "protocol assignments of IPv6": ["2001::", "2001:0:7f00:1::1", "2001:10::1", "2001:20::1", "2001:1ff::1"],
  "documentation of IPv6": ["2001:db8::", "2001:db8::1", "2001:db8:ffff::1", "3fff::1", "3fff:fff:ffff::1"],
  "6to4": ["2002::", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1"],
  "segment routing": ["5f00::", "5f00::1", "5f00:ffff::1"],
  "unique local": ["fc00::", "fc00::1", "fd00::1", "fd00:ec2::254", "fdff:ffff::1"],
  "link-local of IPv6": ["fe80::", "fe80::1", "fe80::a9fe:a9fe", "febf::1"],
  "site-local": ["fec0::", "fec0::1", "feff::1"],
  "multicast of IPv6": ["ff00::", "ff02::1", "ff05::2", "ff0e::1", "ffff::1"],
  "not assigned to global unicast": ["1::", "200::1", "1fff::1", "4000::1", "8000::1", "c000::1", "e000::1"],
  "no address or one with a zone": [
    "",
    "localhost",
    "example.com",
    "127.1",
    "2130706433",
    "0x7f.1",
    "8.8.8.8/32",
    "8.8.8",
    "8.8.8.8.8",
    "256.1.1.1",
    " 8.8.8.8",
    "[2606:4700::1]",
    "fe80::1%eth0",
    "2606:4700::1%1",
    "2606:4700::g",
    ":::",
  ],
};

const ALLOWED = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "168.63.129.15",
  "168.63.129.17",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "191.255.255.255",
  "192.0.1.0",
  "192.0.3.0",
  "192.88.98.255",
  "192.88.100.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "198.51.99.255",
  "198.51.101.0",
  "203.0.112.255",
  "203.0.114.0",
  "223.255.255.255",
  "::ffff:8.8.8.8",
  "64:ff9b::8.8.8.8",
  "64:ff9b::808:808",
  "2001:200::1",
  "2001:4860:4860::8888",
  "2001:db7:ffff::1",
  "2001:db9::1",
  "2003::1",
  "2606:4700:4700::1111",
  "2a00:1450:4001::1",
  "3ffe::1",
];

describe("addresses that may be called", () => {
  const guard = createAddressGuard({});

  test("hold nothing of the special blocks, in no notation", () => {
    const wrong = Object.values(REFUSED).flatMap((addresses) => addresses.filter(guard.isAllowed));
    expect(wrong).toEqual([]);
  });

  test("hold what is next to the special blocks", () => {
    expect(ALLOWED.filter((address) => !guard.isAllowed(address))).toEqual([]);
  });
});

test("an allowed block wins over every refusal, and only for its own addresses", () => {
  const guard = createAddressGuard({
    allowed: ["127.0.0.1", "10.1.0.0/16", "fd00::/8"],
    blocked: ["10.0.0.0/8"],
  });
  const addresses = ["127.0.0.1", "10.1.2.3", "fd00::7", "::ffff:127.0.0.1", "64:ff9b::10.1.2.3"];
  expect(addresses.filter((address) => !guard.isAllowed(address))).toEqual([]);
  expect(["127.0.0.2", "10.2.0.1", "::1", "fc00::1"].filter(guard.isAllowed)).toEqual([]);
});

test("a blocked block refuses public addresses, also those in NAT64", () => {
  const guard = createAddressGuard({ blocked: ["198.41.0.0/24", "2a00:1450::/32", "9.9.9.9"] });
  const blocked = ["198.41.0.4", "2a00:1450::1", "9.9.9.9", "64:ff9b::9.9.9.9", "::ffff:9.9.9.9"];
  expect(blocked.filter(guard.isAllowed)).toEqual([]);
  expect(guard.isAllowed("9.9.9.10")).toBe(true);
  expect(createAddressGuard({ blocked: ["64:ff9b::/96"] }).isAllowed("64:ff9b::8.8.8.8")).toBe(false);
});
