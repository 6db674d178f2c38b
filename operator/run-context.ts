import type { PlanContext } from "../shared/controller/plan.ts";

/** What every controller applies its plans with; the kind is the controller's own. */
export type RunContext = Omit<PlanContext<never>, "kind">;
