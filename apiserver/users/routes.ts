import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, versionTag } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { countOrganizationsCreatedBy } from "../organizations/index.ts";
import { lockUserQuotas, setUserQuotas } from "./changes.ts";
import { presentUserQuotas, userQuotasTag } from "./present.ts";
import { setUserQuotasBody, userQuotasRecord } from "./schema.ts";
import { readUserQuotas, requireUser } from "./store.ts";

const tag = "Platform administration";
const RECORD = "/api/v1/admin/users/{userID}/quotas";

/** The quotas of a user, which the platform's staff sets. */
export function addUserRoutes(router: Router, deps: Deps): void {
  addReadQuotas(router, deps);
  addSetQuotas(router, deps);
}

function addReadQuotas(router: Router, deps: Deps): void {
  const { userQuotas: defaults } = deps.config;
  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getUserQuotas",
      tag,
      summary: "Get the quotas of a user",
      access: "platform-admin",
      responses: {
        200: { description: "The limits and their use.", body: userQuotasRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { params: { userID } }) => {
      await requireUser(deps.db, userID);
      const quotas = await readUserQuotas(deps.db, userID, defaults);
      const used = await readUse(deps.db, userID);
      const etag = userQuotasTag(quotas, used);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentUserQuotas(quotas, defaults, used), 200, { ETag: etag });
    },
  );
}

function addSetQuotas(router: Router, deps: Deps): void {
  const { userQuotas: defaults } = deps.config;
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
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
    async (c, { origin, params: { userID }, readBody, change }) => {
      await requireUser(deps.db, userID);
      const { organizations } = await readBody();
      const quotas = await change({
        lock: (tx) => lockUserQuotas(tx, userID, defaults),
        tag: ({ version }) => versionTag(version),
        fixed: () => ({ user_id: userID }),
        apply: (tx, before) =>
          setUserQuotas(tx, origin, { userId: userID, before, defaults }, { organizations }),
      });
      const used = await readUse(deps.db, userID);
      return c.json(presentUserQuotas(quotas, defaults, used), 200, { ETag: userQuotasTag(quotas, used) });
    },
  );
}

async function readUse(db: Queryable, userId: string) {
  return { organizations: await countOrganizationsCreatedBy(db, userId) };
}
