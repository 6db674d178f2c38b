import { expect, test } from "vitest";
import { toAddressKey } from "./rate-limit.ts";

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8::/64"],
  ["::1", "::/64"],
])("failed logins from %s are counted by %s", (address, key) => {
  expect(toAddressKey(address)).toBe(key);
});
