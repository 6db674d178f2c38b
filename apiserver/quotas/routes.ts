import type { z } from "@hono/zod-openapi";
import type { Database, Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, versionTag } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { ensureNamespaceSoon, readQuotas, requireOrganization } from "../organizations/index.ts";
import { type QuotaChange, setQuotas } from "./changes.ts";
import { presentQuotas, quotasTag } from "./present.ts";
import { quotasRecord, type StoreQuotas, setQuotasBody } from "./schema.ts";
import { readQuotasAndUse } from "./store.ts";

const tag = "Platform administration";
const TENANT_RECORD = "/api/v1/organizations/{orgID}/quotas";
const RECORD = "/api/v1/admin/organizations/{orgID}/quotas";

const readResponses = {
  200: { description: "The limits and their use.", body: quotasRecord, headers: ["ETag"] },
  304: { description: "Unchanged since the version in If-None-Match." },
} as const;

/** What this slice asks of slices above it. */
export interface QuotaHooks {
  /** What an organization keeps in their stores, and may. Awaits nothing before its statements are sent. */
  readStores(tx: Queryable, orgId: string): Promise<StoreQuotas>;
}

/** The quotas of an organization, which its members read and the platform's staff sets. */
export function addQuotaRoutes(router: Router<Deps>, deps: Deps, hooks: QuotaHooks): void {
  const { quotas: defaults } = deps.config;
  const readAll = (db: Database, orgId: string) =>
    readQuotasAndUse(db, { orgId, defaults }, (tx) => hooks.readStores(tx, orgId));
  const readRecord = async (db: Database, orgId: string) => {
    const { quotas, use } = await readAll(db, orgId);
    return { record: presentQuotas(quotas, deps.config, use), etag: quotasTag(quotas, deps.config, use) };
  };
  addRoute(
    router,
    {
      method: "get",
      path: TENANT_RECORD,
      operationId: "getQuotas",
      tag: "Organizations",
      summary: "Get the quotas and their use",
      description:
        "What the organization may have and has. The platform's staff sets the quotas; a request beyond one is 422 quota_exceeded.",
      access: "organization:read",
      responses: readResponses,
    },
    async (c, { deps, orgId }) => {
      const { record, etag } = await readRecord(deps.db, orgId);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(record, 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getOrganizationQuotas",
      tag,
      summary: "Get the quotas of an organization",
      access: "platform-admin",
      responses: readResponses,
    },
    async (c, { deps, params: { orgID } }) => {
      await requireOrganization(deps.db, orgID);
      const { record, etag } = await readRecord(deps.db, orgID);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(record, 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "setOrganizationQuotas",
      tag,
      summary: "Set the quotas of an organization",
      description:
        "Omitted limits are unchanged; null restores the platform's default. A limit below what is in use stops nothing that runs: only growth is refused.",
      access: "platform-admin",
      body: setQuotasBody,
      responses: {
        200: { description: "Its limits and their use.", body: quotasRecord, headers: ["ETag"] },
      },
      errors: ["conflict", "precondition_failed"],
    },
    async (c, { deps, author, params: { orgID }, readBody, change }) => {
      await requireOrganization(deps.db, orgID);
      const body = await readBody();
      const owner = { orgId: orgID, defaults };
      const quotas = await change({
        // Locked with its organization by the confirmation.
        lock: (tx) => readQuotas(tx, orgID, defaults),
        tag: ({ version }) => versionTag(version),
        immutable: () => ({ org_id: orgID }),
        apply: (tx, before) => setQuotas(tx, author, { ...owner, before }, toChange(body)),
      });
      await ensureNamespaceSoon(deps, orgID);
      const { use } = await readAll(deps.db, orgID);
      return c.json(presentQuotas(quotas, deps.config, use), 200, {
        ETag: quotasTag(quotas, deps.config, use),
      });
    },
  );
}

function toChange(body: z.output<typeof setQuotasBody>): QuotaChange {
  return {
    clusters: body.clusters,
    nodePools: body.node_pools,
    nodes: body.nodes,
    vcpus: body.vcpus,
    memoryGB: body.memory_gb,
  };
}
