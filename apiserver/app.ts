import { type Context, Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import { getPath } from "hono/utils/url";
import {
  consumeVerifiedMembership,
  findTokenMembership,
  readTokenStore,
  revokeApiTokens,
} from "./api-tokens/index.ts";
import { addApiTokenRoutes } from "./api-tokens/routes.ts";
import { addAuditEventRoutes } from "./audit/deleters/routes.ts";
import { readDeletionStore, recordStaffRequest } from "./audit/index.ts";
import { addAuditRoutes } from "./audit/routes.ts";
import { addBillingRoutes } from "./billing/routes.ts";
import {
  readAccessStore,
  requestRevocation,
  revokePending,
  startOffboarding,
} from "./cluster-accesses/index.ts";
import { addOffboardingRoutes } from "./cluster-accesses/offboarding/routes.ts";
import { addClusterAccessRoutes } from "./cluster-accesses/routes.ts";
import { addClusterRoutes } from "./clusters/routes.ts";
import { sendTogether } from "./db/statement.ts";
import type { Deps } from "./deps.ts";
import { type Authenticator, invalidStreamTicket } from "./http/authentication/authenticator.ts";
import { createByteBudget } from "./http/contract/byte-budget.ts";
import type { Operation } from "./http/contract/operation.ts";
import type { Router, SentEvent } from "./http/contract/router.ts";
import { createTenantLimits } from "./http/contract/tenant-slot.ts";
import { lowerCaseIds } from "./http/contract/validate.ts";
import type { HttpEnv } from "./http/env.ts";
import { handleError, handleUnknownMethod, handleUnmatched } from "./http/handle-error.ts";
import { createIdempotencyStores } from "./http/idempotency/store.ts";
import { addDocumentRoutes } from "./http/openapi/docs.ts";
import { createRequestLimiter } from "./http/rate-limits/rate-limit.ts";
import { compressResponses } from "./http/server/compress.ts";
import { observe } from "./http/server/observe.ts";
import { createSourceFinder, warnOfUntrusted } from "./http/server/source-address.ts";
import { limitUnread } from "./http/server/unread.ts";
import { addCallerRoutes } from "./members/caller-routes.ts";
import { addGroupMappingRoutes } from "./members/groups/admin-routes.ts";
import {
  deleteMappingsOf,
  findIssuerOf,
  findMembership,
  insertOwner,
  type MemberHooks,
  recordStaffUse,
} from "./members/index.ts";
import { addMemberRoutes } from "./members/routes.ts";
import { addNetworkPolicyRoutes } from "./network-policies/routes.ts";
import { addNodePoolRoutes } from "./node-pools/routes.ts";
import { lockOrganization } from "./organizations/index.ts";
import { addAdminOrganizationRoutes, addOrganizationRoutes } from "./organizations/routes.ts";
import { addQuotaRoutes } from "./quotas/routes.ts";
import { createImageCheck, readCredentialStore, readReportStore, readScanStore } from "./registry/index.ts";
import { addRegistryRoutes } from "./registry/routes.ts";
import { hasPendingCreates } from "./resources/write/index.ts";
import { addStorageQuotaRoutes } from "./storage-quotas/routes.ts";
import { redeemStreamTicket } from "./system-events/index.ts";
import { addSystemEventRoutes } from "./system-events/routes.ts";
import { closeTicketsOf, readTicketStores } from "./tickets/index.ts";
import { addTicketRoutes } from "./tickets/routes.ts";
import { requireOrganizationQuota } from "./users/index.ts";
import { addUserIdentityRoutes, addUserRoutes } from "./users/routes.ts";
import { deleteWebhooksOf, readWebhookStore } from "./webhooks/index.ts";
import { addWebhookRoutes } from "./webhooks/routes.ts";

export interface AppParts {
  authenticator: Pick<Authenticator, "authenticate"> &
    Partial<Pick<Authenticator, "isKnown" | "isWellFormed">>;
  /** Filled with every operation of the application. */
  operations?: Operation[];
  /** Filled with every request that webhooks send. */
  sentEvents?: SentEvent[];
}

/** What ends with a membership, or with a role that opens clusters. */
export const memberHooks: MemberHooks = {
  async onRemove(tx, orgId, member) {
    await startOffboarding(tx, orgId, member, await revokeApiTokens(tx, orgId, member.userId));
  },
  onClusterAccessLost: requestRevocation,
  afterClusterAccessLost: revokePending,
};

/** Bodies that arrive at once: 64 of one user and 128 of one organization. */
const MAX_PENDING_BODIES = 512;

/** The whole API as one Hono application, without listening: the table of contents of this program. */
export function createApp(deps: Deps, parts: AppParts): Hono<HttpEnv> {
  const { limits } = deps.config;
  const app = new Hono<HttpEnv>({ getPath: (request) => lowerCaseIds(getPath(request)) });
  app.use(
    observe(deps.log, deps.metrics, createSourceFinder(limits.trustedProxies, warnOfUntrusted(deps.log))),
  );
  const unread = createByteBudget({
    maxBytes: limits.maxUnreadBytes,
    what: "responses are waiting to be read",
  });
  app.use(limitUnread(unread, limits.responseSeconds));
  app.use(compressResponses());
  const limiter = createRequestLimiter(limits.rates);
  app.onError(handleError);
  const respondUnmatched = handleUnmatched(
    methodNotAllowed({ app, onMethodNotAllowed: handleUnknownMethod }),
  );
  app.notFound(async (c: Context<HttpEnv>) => {
    await limiter.countUnmatched(router.access, c);
    return respondUnmatched(c);
  });

  const router: Router<Deps> = {
    app,
    access: {
      authenticate: parts.authenticator.authenticate,
      isKnown: parts.authenticator.isKnown ?? (() => false),
      isWellFormed: parts.authenticator.isWellFormed ?? (() => false),
      async redeemStreamTicket(ticket, path) {
        const principal = await redeemStreamTicket(deps.db, ticket, path, deps.now());
        if (principal === undefined) throw invalidStreamTicket();
        return principal;
      },
      findMembership: (principal, orgId) =>
        principal.kind === "token"
          ? consumeVerifiedMembership({ db: deps.rightsDb }, principal, orgId)
          : findMembership(deps.rightsDb, orgId, principal.userId),
      async lockMembership(tx, principal, orgId) {
        // The lock first, in a separate statement: one that waited for the lock still sees the old members.
        const [, membership] = await sendTogether(
          lockOrganization(tx, orgId),
          principal.kind === "token"
            ? findTokenMembership({ db: tx }, principal, orgId)
            : findMembership(tx, orgId, principal.userId),
        );
        return membership;
      },
      findIssuer: findIssuerOf,
      lockOrganization,
    },
    deps,
    idempotencyOf: createIdempotencyStores(limits.maxIdempotencyKeysPerUser),
    limiter,
    limits,
    bodies: createByteBudget({
      maxBytes: limits.maxPendingBodyBytes,
      maxAllocations: MAX_PENDING_BODIES,
      what: "request bodies are arriving",
    }),
    unread,
    tenantLimits: createTenantLimits(limits),
    operations: parts.operations ?? [],
    sentEvents: parts.sentEvents ?? [],
    recordStaffRequest: (author, request) => recordStaffRequest(deps, author, request),
    recordStaffUse: (userId) => recordStaffUse(deps.db, userId),
  };
  addDocumentRoutes(router, deps.config.publicUrl);
  // A slice calls those that come after it in layers.ts only by the hooks here and in background.ts.
  addOrganizationRoutes(router, {
    beforeCreate: (tx, creatorId) => requireOrganizationQuota(tx, creatorId, deps.config.userQuotas),
    onCreate: insertOwner,
    hasPendingCreates,
    hasImages: createImageCheck(deps),
    async onDelete(tx, author, orgId) {
      await revokeApiTokens(tx, orgId);
      await deleteMappingsOf(tx, orgId);
      await closeTicketsOf(tx, author, orgId, deps.now());
      await deleteWebhooksOf(tx, orgId, deps.now());
    },
  });
  addAdminOrganizationRoutes(router);
  addCallerRoutes(router, memberHooks);
  addMemberRoutes(router, memberHooks);
  addGroupMappingRoutes(router, memberHooks);
  addApiTokenRoutes(router, {
    onEnd: (tx, author, { orgId, ...ended }) => requestRevocation(tx, author, orgId, ended),
    afterEnd: revokePending,
  });
  addUserRoutes(router, deps);
  addUserIdentityRoutes(router, memberHooks);
  addQuotaRoutes(router, deps, {
    async readStores(tx, orgId) {
      const { config } = deps;
      const [tickets, tokens, webhooks, accesses, credentials, scans, reports, deletions] =
        await sendTogether(
          readTicketStores(tx, { orgId, at: deps.now(), limits: config.ticketLimits }),
          readTokenStore(tx, orgId, config.maxApiTokensPerOrganization),
          readWebhookStore(tx, orgId, config.webhooks.maxPerOrganization),
          readAccessStore(tx, orgId, config.maxClusterAccessesPerOrganization),
          readCredentialStore(tx, orgId),
          readScanStore(tx, orgId),
          readReportStore(tx, orgId),
          readDeletionStore(tx, orgId),
        );
      return {
        ...tickets,
        ...tokens,
        ...webhooks,
        ...accesses,
        ...credentials,
        ...scans,
        ...reports,
        ...deletions,
      };
    },
  });
  addAuditRoutes(router);
  addAuditEventRoutes(router, deps);
  addClusterRoutes(router, deps);
  addClusterAccessRoutes(router);
  addOffboardingRoutes(router, deps);
  addNetworkPolicyRoutes(router, deps);
  addNodePoolRoutes(router, deps);
  addSystemEventRoutes(router, deps);
  addWebhookRoutes(router);
  addBillingRoutes(router, deps);
  addTicketRoutes(router, deps);
  addStorageQuotaRoutes(router);
  addRegistryRoutes(router, deps);
  return app;
}
