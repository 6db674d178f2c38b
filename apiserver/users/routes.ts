import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, versionTag } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { endGroupsOfOtherIssuers, type MemberHooks } from "../members/index.ts";
import { lockUserIdentity, lockUserQuotas, setUserIssuer, setUserQuotas } from "./changes.ts";
import { presentUserIdentity, presentUserQuotas, userIdentityTag, userQuotasTag } from "./present.ts";
import { setUserIdentityBody, setUserQuotasBody, userIdentityRecord, userQuotasRecord } from "./schema.ts";
import { readUserIdentity, readUserQuotas, readUserUse, requireUser } from "./store.ts";

const tag = "Platform administration";
const QUOTAS = "/api/v1/admin/users/{userID}/quotas";
const IDENTITY = "/api/v1/admin/users/{userID}/identity";

/** The quotas of a user, which the platform's staff sets. */
export function addUserRoutes(router: Router<Deps>, deps: Deps): void {
  addReadQuotas(router, deps);
  addSetQuotas(router, deps);
}

function addReadQuotas(router: Router<Deps>, deps: Deps): void {
  const { userQuotas: defaults } = deps.config;
  addRoute(
    router,
    {
      method: "get",
      path: QUOTAS,
      operationId: "getUserQuotas",
      tag,
      summary: "Get the quotas of a user",
      access: "platform-admin",
      responses: {
        200: { description: "The limits and their use.", body: userQuotasRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, params: { userID } }) => {
      await requireUser(deps.db, userID);
      const quotas = await readUserQuotas(deps.db, userID, defaults);
      const used = await readUserUse(deps.db, userID);
      const etag = userQuotasTag(quotas, used);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentUserQuotas(quotas, defaults, used), 200, { ETag: etag });
    },
  );
}

function addSetQuotas(router: Router<Deps>, deps: Deps): void {
  const { userQuotas: defaults } = deps.config;
  addRoute(
    router,
    {
      method: "put",
      path: QUOTAS,
      operationId: "setUserQuotas",
      tag,
      summary: "Set the quotas of a user",
      description:
        "Omitted limits are unchanged; null restores the platform's default. A limit below what is in use removes nothing: only more is refused.",
      access: "platform-admin",
      body: setUserQuotasBody,
      responses: {
        200: { description: "The limits and their use.", body: userQuotasRecord, headers: ["ETag"] },
      },
      errors: ["precondition_failed"],
    },
    async (c, { deps, author, params: { userID }, readBody, change }) => {
      await requireUser(deps.db, userID);
      const { organizations } = await readBody();
      const quotas = await change({
        lock: (tx) => lockUserQuotas(tx, userID, defaults),
        tag: ({ version }) => versionTag(version),
        immutable: () => ({ user_id: userID }),
        apply: (tx, before) =>
          setUserQuotas(tx, author, { userId: userID, before, defaults }, { organizations }),
      });
      const used = await readUserUse(deps.db, userID);
      return c.json(presentUserQuotas(quotas, defaults, used), 200, { ETag: userQuotasTag(quotas, used) });
    },
  );
}

/** The issuer that a user id belongs to: two issuers can present the same `sub`, and the first one gets it. */
export function addUserIdentityRoutes(router: Router<Deps>, hooks: MemberHooks): void {
  addReadIdentity(router);
  addSetIdentity(router, hooks);
}

function addReadIdentity(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: IDENTITY,
      operationId: "getUserIdentity",
      tag,
      summary: "Get the issuer that a user belongs to",
      access: "platform-admin",
      responses: {
        200: { description: "The user's issuer.", body: userIdentityRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, params: { userID } }) => {
      const identity = await readUserIdentity(deps.db, userID);
      const etag = userIdentityTag(identity);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentUserIdentity(identity), 200, { ETag: etag });
    },
  );
}

function addSetIdentity(router: Router<Deps>, hooks: MemberHooks): void {
  addRoute(
    router,
    {
      method: "put",
      path: IDENTITY,
      operationId: "setUserIdentity",
      tag,
      summary: "Assign a user to an issuer",
      description:
        "A user id belongs to the issuer that presented it first; tokens of other issuers with the same id are refused. " +
        "This gives the id to another issuer: its person gets the roles and API tokens that the id has, so end first " +
        "what is not theirs; what groups of the previous issuer gave ends with it. Tokens of that issuer are refused within a minute.",
      access: "platform-admin",
      body: setUserIdentityBody,
      responses: {
        200: { description: "The user's issuer.", body: userIdentityRecord, headers: ["ETag"] },
      },
      errors: ["precondition_failed"],
    },
    async (c, { deps, author, params: { userID }, readBody, change }) => {
      await readUserIdentity(deps.db, userID);
      const body = await readBody();
      const issuers = deps.config.issuers.map(({ issuer }) => issuer);
      const { identity, lostIn } = await change({
        lock: (tx) => lockUserIdentity(tx, userID),
        tag: userIdentityTag,
        immutable: () => ({ user_id: userID }),
        async apply(tx, before) {
          const { issuer } = body;
          const identity = await setUserIssuer(tx, author, { userId: userID, before, issuers }, issuer);
          const user = { userId: userID, issuer };
          return { identity, ...(await endGroupsOfOtherIssuers(tx, hooks, author, user)) };
        },
      });
      for (const orgId of lostIn) await hooks.afterClusterAccessLost(deps, orgId);
      return c.json(presentUserIdentity(identity), 200, { ETag: userIdentityTag(identity) });
    },
  );
}
