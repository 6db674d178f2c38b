import { METHOD_NAME_ALL } from "hono/router";
import type { RouterRoute } from "hono/types";
import { createLogger } from "../../shared/program/log.ts";
import { createRegistry } from "../../shared/program/metrics.ts";
import { createApp } from "../app.ts";
import type { Deps } from "../deps.ts";
import type { Operation } from "../http/contract/operation.ts";
import type { SentEvent } from "../http/contract/router.ts";
import { DEFAULT_REQUEST_LIMITS } from "../http/limits.ts";
import { buildDocument } from "../http/openapi/document.ts";

/** How the document describes a field of a PUT whose value is ignored. */
export { IGNORED, IMMUTABLE } from "../http/contract/fields.ts";

/** The OpenAPI document as text, without a database or a cluster: operations are declared, none is called. */
export function renderOpenApi(): string {
  return `${JSON.stringify(buildDocument(declareAll()), undefined, 2)}\n`;
}

/** Every operation as its slice declares it; none can be called. */
export function declareOperations(): Operation[] {
  return declareAll().operations;
}

/** Every route that is no operation, in order, as in `GET /docs`. */
export function declareOtherRoutes(): string[] {
  const { operations, routes } = declareAll();
  const ofOperations = new Set(operations.map(({ path }) => path.replaceAll(/\{(.+?)\}/g, ":$1")));
  return routes
    .filter(({ method, path }) => method !== METHOD_NAME_ALL && !ofOperations.has(path))
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route, index, all) => all.indexOf(route) === index)
    .toSorted();
}

function declareAll(): { operations: Operation[]; sentEvents: SentEvent[]; routes: RouterRoute[] } {
  const declared = { operations: [], sentEvents: [] };
  const { routes } = createApp(describeOnlyDeps(), {
    authenticator: {
      authenticate: () => Promise.reject(new Error("not called")),
    },
    ...declared,
  });
  return { ...declared, routes };
}

/** Declaring operations touches these parts alone; everything else is used by handlers, and none is called here. */
function describeOnlyDeps(): Deps {
  const parts: Pick<Deps, "log" | "metrics"> & { config: Pick<Deps["config"], "limits"> } = {
    config: { limits: DEFAULT_REQUEST_LIMITS },
    log: createLogger({ name: "openapi", level: "silent" }),
    metrics: createRegistry(),
  };
  return parts as Deps;
}
