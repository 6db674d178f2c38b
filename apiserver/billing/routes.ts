import type { Deps } from "../deps.ts";
import type { Router } from "../http/contract/router.ts";
import { addBudgetRoutes } from "./budgets/routes.ts";
import { addCreditNoteRoutes } from "./credit-notes/routes.ts";
import { addCloseRoutes } from "./invoices/close-routes.ts";
import { addInvoiceRoutes } from "./invoices/routes.ts";
import { addPackageRoutes } from "./packages/routes.ts";
import { addProfileRoutes } from "./profile/routes.ts";
import { addRateCardRoutes } from "./rate-card/routes.ts";
import { addSpendRoutes } from "./spend/routes.ts";

/** Operations on prices, packages, budgets, what organizations spend, invoices and credit notes. */
export function addBillingRoutes(router: Router<Deps>, deps: Deps): void {
  addRateCardRoutes(router);
  addPackageRoutes(router, deps);
  addBudgetRoutes(router);
  addSpendRoutes(router);
  addProfileRoutes(router);
  addInvoiceRoutes(router);
  addCloseRoutes(router);
  addCreditNoteRoutes(router);
}
