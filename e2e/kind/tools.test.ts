import { expect, test } from "vitest";
import { findToolFault } from "./tools.ts";

test.each<["kind" | "clusterctl", string, RegExp | undefined]>([
  ["kind", "kind v0.33.0 go1.26.0 linux/amd64\n", undefined],
  ["kind", "kind v0.32.0 go1.26.0 linux/amd64\n", undefined],
  ["kind", "kind v0.31.9 go1.25.0 linux/amd64\n", /^kind is 0\.31\.9: install 0\.32\.0 or newer/],
  ["clusterctl", "v1.14.0\n", undefined],
  ["clusterctl", "v1.13.2\n", /^clusterctl is 1\.13\.2: install v1\.14\.0/],
  ["clusterctl", "what?\n", /^The version of clusterctl cannot be read from "what\?"\.$/],
])("%s that says %j", (tool, output, expected) => {
  const fault = findToolFault(tool, output);
  if (expected === undefined) expect(fault).toBeUndefined();
  else expect(fault).toMatch(expected);
});
