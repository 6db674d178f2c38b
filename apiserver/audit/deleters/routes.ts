import type { Deps } from "../../deps.ts";
import { isBearer } from "../../http/authentication/authenticator.ts";
import { readText } from "../../http/contract/body.ts";
import type { Router } from "../../http/contract/router.ts";
import { ApiError } from "../../http/errors.ts";
import { createTokenBuckets } from "../../http/rate-limits/rate-limit.ts";
import { readDeletionRequests } from "./audit-events.ts";
import { insertDeletionRequests } from "./store.ts";

const ROUTE = "/kubernetes/audit-events";
/** A batch of the Kubernetes API has 400 events by default, of about 2 kB each. */
const MAX_BODY_BYTES = 4 * 1_048_576;
/** Requests of all replicas of the Kubernetes API to one process. */
const RATE = { burst: 120, perMinute: 600 };

/**
 * Takes the audit events of the Kubernetes API: of each deletion of an organization's objects it is kept who requested
 * it.
 */
export function addAuditEventRoutes(router: Router, deps: Deps): void {
  const requests = createTokenBuckets(RATE);
  router.app.post(ROUTE, async (c) => {
    c.set("route", ROUTE);
    const { auditWebhookToken } = deps.config;
    if (auditWebhookToken === undefined || !isBearer(c.req.header("authorization"), auditWebhookToken)) {
      router.limiter.countAnonymous(c);
      throw new ApiError("unauthorized", "Audit events need the credential of the Kubernetes API.");
    }
    const { allowed, retryAfterSeconds } = requests.take("all");
    if (!allowed)
      throw new ApiError("rate_limited", "Too many audit events; try again.", { retryAfterSeconds });
    const limits = { maxBytes: MAX_BODY_BYTES, budget: router.bodies };
    const deletions = await readText(c, limits, (text) => readDeletionRequests(parse(text), deps.now()));
    if (deletions === undefined)
      throw new ApiError("bad_request", "The body must be an EventList of audit.k8s.io/v1, as JSON.");
    await insertDeletionRequests(deps.db, deletions);
    return c.body(null, 204);
  });
}

/** Events have more values than a body of this API: what bounds them is their size. Undefined for what is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
