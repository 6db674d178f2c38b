import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { requireOrganization } from "../organizations/index.ts";
import { publishStorageQuotaSoon, setStorageQuota } from "./changes.ts";
import { observeStorage } from "./observed.ts";
import { presentStorageQuota, storageQuotaTag } from "./present.ts";
import { setStorageQuotaBody, storageQuotaRecord } from "./schema.ts";
import { readStorageQuota } from "./store.ts";

const ADMIN_RECORD = "/api/v1/admin/organizations/{orgID}/storage-quota";

const readResponses = {
  200: { description: "The limit and what is stored.", body: storageQuotaRecord, headers: ["ETag"] },
  304: { description: "Unchanged since the version in If-None-Match." },
} as const;

/** Operations on the limit of an organization's shared storage. */
export function addStorageQuotaRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/storage-quota",
      operationId: "getStorageQuota",
      tag: "Shared storage",
      summary: "Get the shared-storage quota",
      access: "storage_quota:read",
      responses: readResponses,
    },
    async (c, { deps, orgId }) => {
      const { record, etag } = await readRecord(deps, orgId);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(record, 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_RECORD,
      operationId: "getOrganizationStorageQuota",
      tag: "Platform administration",
      summary: "Get the shared-storage quota of an organization",
      access: "platform-admin",
      responses: readResponses,
    },
    async (c, { deps, params: { orgID } }) => {
      await requireOrganization(deps.db, orgID);
      const { record, etag } = await readRecord(deps, orgID);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(record, 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: ADMIN_RECORD,
      operationId: "setOrganizationStorageQuota",
      tag: "Platform administration",
      summary: "Set the shared-storage quota of an organization",
      description:
        "null restores the platform's default. A limit that is lower than before and below the bytes already stored is refused with quota_below_usage, unless no figure of the last 15 minutes is known.",
      access: "platform-admin",
      body: setStorageQuotaBody,
      responses: {
        200: { description: "The limit and what is stored.", body: storageQuotaRecord, headers: ["ETag"] },
      },
      errors: ["conflict", "quota_below_usage", "precondition_failed"],
    },
    async (c, { deps, author, params: { orgID }, readBody, change }) => {
      await requireOrganization(deps.db, orgID);
      const { quota_gb: configuredGB } = await readBody();
      const { defaultStorageQuotaGB: defaultGB } = deps.config;
      const observed = await observeStorage(deps, orgID);
      const { usedBytes } = observed;
      const quota = await change({
        // Locked with its organization by the confirmation.
        lock: (tx) => readStorageQuota(tx, orgID),
        tag: (quota) => storageQuotaTag(quota, presentStorageQuota(quota, defaultGB, observed)),
        apply: (tx, before) =>
          setStorageQuota(tx, author, { orgId: orgID, before, configuredGB, defaultGB, usedBytes }),
      });
      await publishStorageQuotaSoon(deps, orgID);
      const record = presentStorageQuota(quota, defaultGB, observed);
      return c.json(record, 200, { ETag: storageQuotaTag(quota, record) });
    },
  );
}

async function readRecord(deps: Deps, orgId: string) {
  const observed = await observeStorage(deps, orgId);
  const quota = await readStorageQuota(deps.db, orgId);
  const record = presentStorageQuota(quota, deps.config.defaultStorageQuotaGB, observed);
  return { record, etag: storageQuotaTag(quota, record) };
}
