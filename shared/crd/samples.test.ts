import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { resolveVersion } from "./kubernetes-version.ts";
import { isAlwaysPropagated } from "./node-metadata.ts";

const CHART = join(import.meta.dirname, "..", "..", "charts", "marina");
const SAMPLES = join(CHART, "files", "samples");
const read = (...path: string[]) => parse(readFileSync(join(...path), "utf8"));
const values = read(CHART, "values.yaml");
const samples = readdirSync(SAMPLES).map((file) => ({ file, object: read(SAMPLES, file) }));
const specsOf = (kind: string) =>
  samples.flatMap(({ file, object }) => (object.kind === kind ? [{ file, spec: object.spec }] : []));
/** Whose comment says what they need. */
const needsMore = (file: string) => file.endsWith("-options.yaml");

describe("with the chart's default values", () => {
  test.each(specsOf("Cluster"))("the plan and the version of $file are offered", ({ spec }) => {
    expect(Object.keys(values.plans)).toContain(spec.plan ?? "default");
    expect(resolveVersion(values.kubernetesVersions, spec.version)).toBeDefined();
  });

  test.each(specsOf("Cluster").filter(({ file }) => !needsMore(file)))(
    "$file needs no networks of the platform, and no variable of its class",
    ({ spec }) => {
      expect(values.networks.platform).toEqual([]);
      expect(spec.publicEndpoint).toBe(true);
      expect(spec.network).toBeUndefined();
    },
  );

  test.each(specsOf("NodePool").filter(({ file }) => !needsMore(file)))(
    "$file needs no flag and no feature gate of Cluster API",
    ({ spec }) => {
      expect(values.operator.syncedNodeLabels).toBe("");
      expect(Object.keys(spec.nodeLabels ?? {}).filter((key) => !isAlwaysPropagated(key))).toEqual([]);
      expect(spec.nodeTaints).toBeUndefined();
    },
  );
});
