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
export function addBillingRoutes(router: Router, deps: Deps): void {
  addRateCardRoutes(router, deps);
  addPackageRoutes(router, deps);
  addBudgetRoutes(router, deps);
  addSpendRoutes(router, deps);
  addProfileRoutes(router, deps);
  addInvoiceRoutes(router, deps);
  addCloseRoutes(router, deps);
  addCreditNoteRoutes(router, deps);
}
