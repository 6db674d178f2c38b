import type { Context, Next } from "hono";
import type { Deps } from "../deps.ts";
import type { Principal } from "../http/authentication/principal.ts";
import type { Membership } from "../http/authorization/permissions.ts";
import type { Router } from "../http/contract/router.ts";
import type { HttpEnv } from "../http/env.ts";
import { type ErrorCode, notFound } from "../http/errors.ts";
import { toApiError } from "../http/handle-error.ts";
import { requireRegistry, type UseRegistry } from "./backend/access.ts";
import { CREDENTIAL_PREFIX, createCredentialControl } from "./credentials/verify.ts";
import { parseRepository } from "./names.ts";
import { recordPushGrant } from "./store.ts";
import { grantActions, parseScopes, type RequestedScope } from "./tokens/scope.ts";
import {
  passwordRefused,
  type RegistryAccess,
  type RegistryClaims,
  readBasicPassword,
  toPublicJwk,
} from "./tokens/sign.ts";
import { requireSpace } from "./usage/limit.ts";
import { findUsage } from "./usage/store.ts";

const ROUTE = "/registry/token";
const KEYS_ROUTE = "/registry/jwks.json";

/**
 * The token service of the registry (Docker token specification). The password of `docker login` is an API token, whose
 * rights are read for every token, or the credential of a cluster; what it may not do is left out of the token, and the
 * registry refuses it.
 */
export function addTokenRoutes(router: Router, deps: Deps, useRegistry: UseRegistry): void {
  // The public key alone, for the configuration of the registry.
  router.app.get(KEYS_ROUTE, async (c) => {
    c.set("route", KEYS_ROUTE);
    router.limiter.countAnonymous(c);
    const registry = requireRegistry(deps.config);
    if (registry.kind !== "distribution") throw notFound("key");
    return c.json({ keys: [await toPublicJwk(registry)] }, 200);
  });
  const credentials = createCredentialControl(deps);
  router.app.get(ROUTE, addRegistryErrors, async (c) => {
    c.set("route", ROUTE);
    const { limits } = requireRegistry(deps.config);
    const password = readBasicPassword(c.req.header("authorization"));
    if (password === undefined) {
      router.limiter.countAnonymous(c);
      throw passwordRefused("Sign in with an API token as the password.");
    }
    const scopes = parseScopes(c.req.queries("scope") ?? []);
    const now = deps.now();
    if (password.startsWith(CREDENTIAL_PREFIX)) {
      const credential = await router.limiter.authenticateHolder(credentials, password, c);
      c.set("credential", credential);
      router.limiter.countInOrganization(credential.orgId, c);
      const access = scopes
        .filter(({ orgId }) => orgId === credential.orgId)
        .flatMap((scope) => toAccess(scope, { canRead: true, canWrite: false }));
      return respond(c, useRegistry, { subject: credential.id, access, now });
    }
    const control = router.limiter.limit(router.access, { method: "get", access: "signed-in" }, c);
    const principal = await control.authenticate(`Bearer ${password}`);
    c.set("principal", principal);
    const memberships = await findMemberships(router, principal, scopes);
    for (const orgId of memberships.keys()) router.limiter.countInOrganization(orgId, c);
    const access = grantAccess(memberships, scopes);
    const pushed = access.filter(({ actions }) => actions.includes("push"));
    for (const orgId of new Set(pushed.map(({ name }) => parseRepository(name)?.orgId ?? ""))) {
      requireSpace(limits, await findUsage(deps.db, orgId));
      await recordPushGrant(deps.db, orgId);
    }
    return respond(c, useRegistry, { subject: principal.userId, access, now });
  });
}

async function respond(
  c: Context<HttpEnv>,
  useRegistry: UseRegistry,
  claims: RegistryClaims,
): Promise<Response> {
  const { token, lifeSeconds } = await useRegistry(undefined, (backend) => backend.issueToken(claims));
  const issued = { expires_in: lifeSeconds, issued_at: claims.now.toISOString() };
  return c.json({ token, access_token: token, ...issued }, 200, { "Cache-Control": "no-store" });
}

function toAccess(
  { repository, actions }: RequestedScope,
  rights: { canRead: boolean; canWrite: boolean },
): RegistryAccess[] {
  const allowed = grantActions(actions, rights);
  return allowed.length === 0 ? [] : [{ type: "repository", name: repository, actions: allowed }];
}

/** The caller's membership of each organization that the scopes name; none where it is no member. */
async function findMemberships(
  router: Router,
  principal: Principal,
  scopes: readonly RequestedScope[],
): Promise<Map<string, Membership>> {
  const memberships = new Map<string, Membership>();
  for (const orgId of new Set(scopes.map((scope) => scope.orgId))) {
    const membership = await router.access.findMembership(principal, orgId);
    if (membership !== undefined) memberships.set(orgId, membership);
  }
  return memberships;
}

function grantAccess(
  memberships: ReadonlyMap<string, Membership>,
  scopes: readonly RequestedScope[],
): RegistryAccess[] {
  return scopes.flatMap((scope) => {
    const rights = memberships.get(scope.orgId)?.rights;
    const canRead = rights?.has("registry:read") ?? false;
    const canWrite = rights?.has("registry:write") ?? false;
    return toAccess(scope, { canRead, canWrite });
  });
}

/** Codes of the OCI distribution specification 1.1, and UNAVAILABLE of Docker's registries. */
const CODES: Partial<Record<ErrorCode, string>> = {
  unauthorized: "UNAUTHORIZED",
  quota_exceeded: "DENIED",
  rate_limited: "TOOMANYREQUESTS",
  dependency_unavailable: "UNAVAILABLE",
};

/**
 * Adds `errors` to an error response, as the OCI distribution specification defines it, in addition to `error`:
 * `docker` and others show only the message in `errors`.
 */
async function addRegistryErrors(c: Context<HttpEnv>, next: Next): Promise<void> {
  await next();
  if (c.error === undefined) return;
  const { code, message } = toApiError(c.error);
  const body = (await c.res.json()) as object;
  c.res = Response.json({ ...body, errors: [{ code: CODES[code] ?? "UNKNOWN", message }] }, c.res);
}
