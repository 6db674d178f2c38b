import { expect, test } from "vitest";
import { findToolFault } from "./tools.ts";

test.each<["kind" | "clusterctl", string, string]>([
  ["kind", "kind v0.33.0 go1.26.0 linux/amd64\n", ""],
  ["kind", "kind v0.32.0 go1.26.0 linux/amd64\n", ""],
  ["kind", "kind v0.31.9 go1.25.0 linux/amd64\n", "kind is 0.31.9: install 0.32.0 or newer"],
  ["clusterctl", "v1.14.0\n", ""],
  ["clusterctl", "v1.13.2\n", "clusterctl is 1.13.2: install v1.14.0"],
  ["clusterctl", "what?\n", 'The version of clusterctl cannot be read from "what?".'],
])("%s that says %j has the fault: %s", (tool, output, expected) => {
  const fault = findToolFault(tool, output) ?? "";
  expect(fault.slice(0, expected === "" ? undefined : expected.length)).toBe(expected);
});
