import { expect, test } from "vitest";
import { toScanError } from "./scan-error.ts";

test.each([
  ["ERROR failed to load vulnerability db: database does not exist", "scanner_unavailable", true],
  [
    "failed to load vulnerability db: the vulnerability database was built 9 days ago",
    "scanner_unavailable",
    true,
  ],
  [
    "failed to catalog: GET http://r/v2/a/manifests/sha256:1: MANIFEST_UNKNOWN: manifest unknown",
    "image_gone",
    false,
  ],
  ["failed to catalog: dial tcp 127.0.0.1:1: connect: connection refused", "registry_unavailable", true],
  ["failed to catalog: UNAUTHORIZED: authentication required", "registry_unavailable", true],
  ["write /tmp/x: no space left on device", "out_of_disk", false],
  ["unable to read layer: archive/tar: invalid tar header", "failed", false],
  ["", "failed", false],
])("the scanner's last words %s mean %s", (text, fault, isOfPlatform) => {
  const error = toScanError(text);
  expect([error.fault, error.isOfPlatform]).toEqual([fault, isOfPlatform]);
});
