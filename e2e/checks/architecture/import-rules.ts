import { type ImportEdge, isTestFile, packageOf } from "./imports.ts";
import { findBrokenLayer } from "./layers.ts";

const PURE_FILES = /^operator\/[^/]+\/(reconcile|children|conditions|status|summary|events|mirror)\.ts$/;
const IMPURE_MODULES =
  /^(shared\/kube\/(client|connection|reflector|store|transport)\.ts|shared\/controller\/(controller|lease|metrics|queue|recorder|server)\.ts|node:(?!assert$|util$))/;
const OPERATOR_FORBIDDEN = /^(drizzle-orm|postgres|hono|@hono\/.*)$/;
const PROGRAMS = ["apiserver", "operator"];

/** The import rules of the repository. Returns the broken rule, or undefined for an import that is allowed. */
export function findBrokenRule(edge: ImportEdge): string | undefined {
  const { from, to, typeOnly = false } = edge;
  const [area = ""] = from.split("/");
  const [targetArea = ""] = to.split("/");

  if (area === "shared" && PROGRAMS.includes(targetArea)) return "shared imports neither program";
  if (area === "operator" && targetArea === "apiserver") return "the operator never imports the API server";
  if (area === "apiserver" && targetArea === "operator") return "the API server never imports the operator";
  if (area === "operator" && OPERATOR_FORBIDDEN.test(packageOf(to)))
    return "the operator imports no database and no HTTP framework";
  if (PURE_FILES.test(from) && !typeOnly && IMPURE_MODULES.test(to))
    return "reconcile, children and status import no client, no clock, no randomness";
  if (from.startsWith("shared/controller/") && to.startsWith("shared/crd/"))
    return "the controller runtime knows no product";
  if (
    area === "e2e" &&
    PROGRAMS.includes(targetArea) &&
    !/^(apiserver|operator)\/(main|db\/migrate|openapi\/render)\.ts$/.test(to)
  )
    return "e2e imports the two programs through their entry points only";
  if (isTestFile(from) || area === "e2e") return undefined;
  if (isTestFile(to) || targetArea === "e2e") return "production code imports no test code";
  return area === "apiserver" && targetArea === "apiserver" ? findBrokenLayer(from, to) : undefined;
}
