import type { Deps } from "../deps.ts";
import { isBearer } from "../http/authentication/authenticator.ts";
import { parseBody, readText } from "../http/contract/body.ts";
import type { Router } from "../http/contract/router.ts";
import { ApiError } from "../http/errors.ts";
import { findKnownOrganizations } from "../organizations/index.ts";
import { findImageUses, findPushedBlobs, type ImageUse, notificationSchema } from "./scans/notification.ts";
import { PRIORITIES, requestMissingScans, touchScans } from "./scans/store.ts";
import { countPushes, type PushedBlob } from "./usage/store.ts";

const ROUTE = "/registry/notifications";
const MAX_BODY_BYTES = 1_048_576;

/** Takes the registry's notifications: an image that is pushed is scanned, one that is pulled is in use. */
export function addNotificationRoutes(router: Router, deps: Deps): void {
  router.app.post(ROUTE, async (c) => {
    c.set("route", ROUTE);
    const { registry } = deps.config;
    const notificationToken = registry?.kind === "distribution" ? registry.notificationToken : undefined;
    if (notificationToken === undefined || !isBearer(c.req.header("authorization"), notificationToken)) {
      router.limiter.countAnonymous(c);
      throw new ApiError("unauthorized", "Notifications need the credential of the registry.");
    }
    const limits = { maxBytes: MAX_BODY_BYTES, budget: router.bodies };
    const { value } = await readText(c, limits, (text) => parseBody(notificationSchema, text));
    await recordUses(deps, findImageUses(value));
    // Last, and all or nothing: the registry sends a notification again that was not accepted, or whose response was lost.
    await recordPushes(deps, findPushedBlobs(value));
    return c.body(null, 204);
  });
}

async function recordUses({ db, now }: Deps, uses: readonly ImageUse[]): Promise<void> {
  const at = now();
  const known = await findKnownOrganizations(
    db,
    uses.map(({ orgId }) => orgId),
  );
  for (const [orgId, ofOrganization] of Map.groupBy(uses, (use) => use.orgId)) {
    if (!known.has(orgId)) continue;
    const [pushed, pulled] = [
      ofOrganization.filter(isPushed),
      ofOrganization.filter((use) => !isPushed(use)),
    ];
    // One statement cannot write a row twice.
    const distinct = new Map(pushed.map(({ digest, repository }) => [digest, repository]));
    await requestMissingScans(
      db,
      orgId,
      [...distinct].map(([digest, repository]) => ({ digest, repository, priority: PRIORITIES.pushed, at })),
    );
    await touchScans(
      db,
      orgId,
      pulled.map(({ digest }) => digest),
      at,
    );
  }
}

async function recordPushes({ db }: Deps, pushes: readonly PushedBlob[]): Promise<void> {
  const known = await findKnownOrganizations(
    db,
    pushes.map(({ orgId }) => orgId),
  );
  const counted = pushes.filter(({ orgId }) => known.has(orgId));
  if (counted.length > 0) await countPushes(db, counted);
}

const isPushed = (use: ImageUse) => use.isPushed;
