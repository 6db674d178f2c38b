import { expect, test } from "vitest";
import { createRuntimeMetrics } from "../controller/metrics.ts";
import { createKubeMetrics } from "../kube/metrics.ts";
import { createRegistry } from "./metrics.ts";

test("metrics follow the rules of promtool: _total for counters only, base units, a help text", async () => {
  const registry = createRegistry();
  createKubeMetrics(registry, "test");
  createRuntimeMetrics(registry, "test");
  const metrics = await registry.getMetricsAsJSON();
  const isCounter = ({ type }: { type: unknown }) => String(type) === "counter";
  const wrong = metrics.filter(
    (metric) =>
      metric.name.endsWith("_total") !== isCounter(metric) ||
      metric.help === "" ||
      /_(milliseconds|ms|minutes|percent|kilobytes|megabytes)(_|$)|_(gauge|histogram|summary)$/.test(
        metric.name,
      ),
  );
  expect(metrics.length).toBeGreaterThan(20);
  expect(wrong.map(({ name }) => name)).toEqual([]);
});
