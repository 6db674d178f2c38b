import { expect, test } from "vitest";
import type { CatalogueEntry } from "../../shared/crd/kubernetes-version.ts";
import { listAutoscalerImages, locateImage } from "./images.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;

test.each<[string, string | undefined]>([
  ["registry.k8s.io/autoscaling/ca:v1.34.0", "https://registry.k8s.io/v2/autoscaling/ca/manifests/v1.34.0"],
  ["registry.example.com:5000/ca", "https://registry.example.com:5000/v2/ca/manifests/latest"],
  [`registry.example.com/ca:1@${DIGEST}`, `https://registry.example.com/v2/ca/manifests/${DIGEST}`],
  ["nginx:1", "https://registry-1.docker.io/v2/library/nginx/manifests/1"],
  ["docker.io/nginx", "https://registry-1.docker.io/v2/library/nginx/manifests/latest"],
  ["example/ca:1", "https://registry-1.docker.io/v2/example/ca/manifests/1"],
  ["localhost:5000/ca:1", "http://localhost:5000/v2/ca/manifests/1"],
  ["127.0.0.1:5000/ca:1", "http://127.0.0.1:5000/v2/ca/manifests/1"],
  ["localhost.example.com/ca:1", "https://localhost.example.com/v2/ca/manifests/1"],
  ["registry.example.com/Upper:1", undefined],
  ["registry.example.com/", undefined],
  ["", undefined],
])("the manifest of %j is at %s", (image, url) => {
  expect(locateImage(image)?.url).toBe(url);
});

test("each version on offer has its image, once for each minor, and one that has ended has none", () => {
  const catalogue: CatalogueEntry[] = [
    { version: "1.33.9", status: "endOfLife" },
    { version: "1.34.1", status: "deprecated", deprecatedAt: "2026-01-01" },
    { version: "1.34.2", status: "supported" },
    { version: "1.35.1", status: "supported" },
  ];
  expect(listAutoscalerImages("a/ca:v{minor}.0", catalogue)).toEqual(["a/ca:v1.34.0", "a/ca:v1.35.0"]);
  expect(listAutoscalerImages("a/ca:v1", catalogue)).toEqual(["a/ca:v1"]);
  expect(listAutoscalerImages(undefined, catalogue)).toEqual([]);
});
