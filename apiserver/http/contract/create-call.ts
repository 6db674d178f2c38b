import type { Context } from "hono";
import { principalKey } from "../authentication/principal.ts";
import { confirmAccess } from "../authorization/confirm-access.ts";
import { requireAnyPermission } from "../authorization/guard.ts";
import type { HttpEnv } from "../env.ts";
import {
  type Attempt,
  type Once,
  type OnceOptions,
  runOnce,
  type StoreOnce,
} from "../idempotency/run-once.ts";
import { readJsonBody } from "./body.ts";
import type { OrganizationCall, SignedInCall } from "./call.ts";
import type { Operation } from "./operation.ts";
import { toOrigin } from "./origin.ts";
import type { Router } from "./router.ts";
import type { TenantWork } from "./tenant-work.ts";

type SignedIn = SignedInCall<unknown, unknown, unknown>;
type InOrganization = OrganizationCall<unknown, unknown, unknown>;

/** Makes the call of a request that has passed all checks. */
export function createCall(
  router: Router,
  operation: Operation,
  c: Context<HttpEnv>,
  work: TenantWork,
): SignedIn | InOrganization {
  let body: unknown;
  const [principal, membership] = [c.get("principal"), c.get("membership")];
  if (principal === undefined) throw new Error(`${operation.operationId} has authenticated nobody`);
  const query: unknown = c.req.valid("query" as never);

  const runKeyed = async <R extends Response>(
    options: OnceOptions,
    run: (attempt: Attempt, storeResponse: StoreOnce) => Promise<R>,
  ): Promise<Once<R>> => {
    const request = {
      scope: `${principalKey(principal)} ${c.req.method} ${c.req.path}${new URL(c.req.url).search}`,
      key: c.req.header("idempotency-key"),
      body,
      isDryRun: isDryRun(query),
    };
    return (await runOnce(c, router.idempotency, request, options, run)) as Once<R>;
  };
  const signedInCall: SignedIn = {
    requestId: c.get("requestId"),
    params: c.req.valid("param" as never),
    query,
    async readBody() {
      if (operation.body === undefined) throw new Error(`${operation.operationId} declares no body`);
      const limits = { maxBytes: router.limits.maxBodyBytes, budget: router.bodies };
      const { value, json } = await readJsonBody(c, operation.body, limits);
      body = json;
      await work.begin();
      return value;
    },
    origin: toOrigin(c, operation, principal),
    runOnce: runKeyed,
    transact: (effect, respond, { afterCommit, ...options } = {}) =>
      runKeyed(options, async ({ id }, storeResponse) => {
        const { result, response } = await router.db.transaction(async (tx) => {
          const result = await effect(tx, { id });
          return { result, response: await storeResponse(tx, respond(result)) };
        });
        await afterCommit?.(result);
        return response;
      }),
  };
  if (membership === undefined) return signedInCall;

  return {
    ...signedInCall,
    orgId: membership.orgId,
    membership,
    requirePermission: (permission) => requireAnyPermission(principal, membership, [permission]),
    async confirmAccess(tx) {
      if (operation.recheckAccess !== true)
        throw new Error(`${operation.operationId} does not declare recheckAccess`);
      return confirmAccess(router.access, operation.access, { principal, orgId: membership.orgId }, tx);
    },
  };
}

/** Whether `dry_run` is set, the only query parameter that this layer knows: a dry run keeps no Idempotency-Key. */
export function isDryRun(query: unknown): boolean {
  return typeof query === "object" && query !== null && "dry_run" in query && query.dry_run === true;
}
