import { describe, expect, test } from "vitest";
import { hasNoHostBits, isCidr, maskCidr } from "./cidr.ts";

describe("CIDR notation", () => {
  test.each(["0.0.0.0/0", "10.0.0.5/8", "203.0.113.7/32", "::/0", "2001:DB8::1/64", "64:ff9b::192.0.2.1/96"])(
    "%s is a CIDR block",
    (text) => {
      expect(isCidr(text)).toBe(true);
    },
  );

  test.each([
    "10.0.0.1",
    "::1",
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/08",
    "10.0.0.0/+8",
    "::ffff:10.0.0.0/104",
    "fe80::%1/64",
    "/8",
    "",
  ])('"%s" is not a CIDR block', (text) => {
    expect(isCidr(text)).toBe(false);
  });
});

describe("host bits", () => {
  test.each([
    "0.0.0.0/0",
    "10.0.0.0/8",
    "10.128.0.0/9",
    "192.0.2.1/32",
    "::/0",
    "2001:db8::/32",
    "::1/128",
    "1::8000/113",
    "64:ff9b::192.0.2.0/120",
  ])("%s has no host bits", (cidr) => {
    expect(hasNoHostBits(cidr)).toBe(true);
  });

  test.each([
    "0.0.0.1/0",
    "10.128.0.0/8",
    "192.0.2.1/31",
    "::1/127",
    "2001:db8::1/32",
    "1::8000/112",
    "64:ff9b::192.0.2.1/120",
  ])("%s has host bits", (cidr) => {
    expect(hasNoHostBits(cidr)).toBe(false);
  });
});

describe("the block that a text means", () => {
  test.each([
    ["10.0.0.5/8", "10.0.0.0/8"],
    ["203.0.113.7/32", "203.0.113.7/32"],
    ["0.0.0.1/0", "0.0.0.0/0"],
    ["2001:DB8:0:0::1/64", "2001:db8::/64"],
    ["::ffff:203.0.113.9/120", "203.0.113.0/24"],
    ["::ffff:cb00:7109/128", "203.0.113.9/32"],
    ["::ffff:0:0/96", "0.0.0.0/0"],
    ["::ffff:203.0.113.9/90", "::ffc0:0:0/90"],
  ])("%s is %s, which the custom resource takes", (text, block) => {
    expect(maskCidr(text)).toBe(block);
    expect([isCidr(block), hasNoHostBits(block)]).toEqual([true, true]);
  });

  test.each([
    "10.0.0.1",
    "::ffff:10.0.0.1",
    "10.0.0.0/33",
    "::ffff:10.0.0.0/129",
    "::ffff:10.0.0.0/0120",
    "",
    "x/8",
  ])('"%s" is none', (text) => {
    expect(maskCidr(text)).toBeUndefined();
  });
});
