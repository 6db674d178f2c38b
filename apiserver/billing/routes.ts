import type { Deps } from "../deps.ts";
import type { Router } from "../http/contract/router.ts";
import { addRateCardRoutes } from "./rate-card/routes.ts";

/** Operations on prices. */
export function addBillingRoutes(router: Router, deps: Deps): void {
  addRateCardRoutes(router, deps);
}
