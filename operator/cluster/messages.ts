import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";

/** The next step where a tenant can only wait. */
export const ADVICE = "If this lasts, ask the platform's operator to look at the cluster.";

/** The pause is a field of the Cluster API cluster, which tenants cannot change. */
export const PAUSED = "The platform's operator has paused the cluster; ask them to resume it.";

export const SUSPENDED = `The cluster is suspended: nothing about it is changed, and what runs continues to run. ${ADVICE_BY_REASON.Suspended.kubectl}`;
