import { z } from "@hono/zod-openapi";
import type { Registry } from "../../../shared/metrics.ts";
import { addRoute } from "../contract/add-route.ts";
import type { Router } from "../contract/router.ts";
import { ApiError } from "../errors.ts";
import type { Readiness } from "./readiness.ts";

const statusSchema = z
  .object({ status: z.enum(["ok"]).openapi({ description: "Always `ok`." }) })
  .openapi("Health", { example: { status: "ok" } });
const tag = "Service";

/** /healthz (the process keeps up with its work), /readyz (it can serve) and /metrics (Prometheus text). */
export function addHealthRoutes(
  router: Router,
  { readiness, isAlive, registry }: { readiness: Readiness; isAlive: () => boolean; registry: Registry },
): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/healthz",
      operationId: "getHealth",
      tag,
      summary: "Whether the process is alive",
      access: "anyone",
      responses: { 200: { description: "It is.", body: statusSchema } },
    },
    async (c) => {
      if (isAlive()) return c.json({ status: "ok" as const }, 200);
      throw new ApiError("internal", "The event loop is blocked.");
    },
  );
  addRoute(
    router,
    {
      method: "get",
      path: "/readyz",
      operationId: "getReadiness",
      tag,
      summary: "Whether the process can serve requests",
      access: "anyone",
      responses: { 200: { description: "It can.", body: statusSchema } },
      errors: ["dependency_unavailable"],
    },
    async (c) => {
      const faults = await readiness.findFaults();
      if (faults.length === 0) return c.json({ status: "ok" as const }, 200);
      throw new ApiError("dependency_unavailable", `Not ready: ${faults.join(", ")}.`, {
        retryAfterSeconds: 1,
      });
    },
  );
  addRoute(
    router,
    {
      method: "get",
      path: "/metrics",
      operationId: "getMetrics",
      tag,
      summary: "Figures in the Prometheus text format",
      access: "anyone",
      responses: { 200: { description: "The figures.", mediaType: "text/plain" } },
    },
    async (c) => c.body(await registry.metrics(), 200, { "Content-Type": registry.contentType }),
  );
}
