import { createId } from "../../shared/program/id.ts";
import { findUnavailablePlan } from "../billing/index.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, readPreconditions } from "../http/contract/etag.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { organizationNamespace } from "../organizations/index.ts";
import {
  type CapabilitiesReader,
  createCapabilitiesReader,
  findPlanCapabilities,
} from "../resources/platform-config.ts";
import { listClusters } from "../resources/project/index.ts";
import { createObjectName, dryRunQuery, RETRY_AFTER, requireCluster } from "../resources/write/index.ts";
import { addAdminClusterRoutes, addSuspensionRoutes } from "./admin-routes.ts";
import { type CatalogueReader, createCatalogueReader } from "./catalogue.ts";
import {
  createCluster,
  findCreateViolations,
  findCreateWarnings,
  findPastExpiries,
  toNewCluster,
} from "./create/create-cluster.ts";
import { addCredentialsRoutes } from "./credentials/routes.ts";
import { readLeftovers } from "./leftovers.ts";
import { mergeClusterUpdate, schedulesDeletion } from "./merge-update.ts";
import { clusterTag, locationOf, presentCluster } from "./present.ts";
import {
  clusterListQuery,
  clusterPage,
  clusterRecord,
  createClusterBody,
  exampleClusterDryRun,
  exampleDeletedCluster,
  exampleNewCluster,
  updateClusterBody,
} from "./schema.ts";
import { createTenantReaders, type ReaderOf, readerFor } from "./tenant-reader.ts";
import { checkUpgrade, presentChecks } from "./upgrade/enforce.ts";
import { addUpgradeRoutes, type PlatformReaders } from "./upgrade/routes.ts";
import { addCatalogueRoutes } from "./versions/routes.ts";
import { changeCluster, deleteCluster } from "./write.ts";

const tag = "Clusters";
const COLLECTION = "/api/v1/organizations/{orgID}/clusters";
const RECORD = `${COLLECTION}/{clusterID}`;
const DRY_RUN = {
  description: "A dry run: the record as it would be, and the effects of the request.",
  body: clusterRecord,
};

/** Operations on clusters. */
export function addClusterRoutes(router: Router<Deps>, deps: Deps): void {
  const catalogue = createCatalogueReader(deps);
  const capabilities = createCapabilitiesReader(deps);
  addCreate(router, catalogue, capabilities);
  addReads(router, catalogue);
  const readerOf = createTenantReaders();
  addUpdate(router, { catalogue, capabilities }, readerOf);
  addDelete(router, catalogue, readerOf);
  addUpgradeRoutes(router, { catalogue, capabilities }, readerOf);
  addCredentialsRoutes(router, catalogue);
  addCatalogueRoutes(router, catalogue);
  addAdminClusterRoutes(router, catalogue);
  addSuspensionRoutes(router, catalogue);
}

function addCreate(
  router: Router<Deps>,
  catalogue: CatalogueReader,
  capabilitiesReader: CapabilitiesReader,
): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createCluster",
      tag,
      summary: "Create a cluster",
      description:
        "The cluster and its node pools are accepted whole or not at all; they are provisioned afterwards.",
      access: "clusters:create",
      query: dryRunQuery,
      body: createClusterBody,
      responses: {
        200: { ...DRY_RUN, bodyExample: exampleClusterDryRun },
        202: {
          description: "Accepted: the record, with status provisioning.",
          body: clusterRecord,
          bodyExample: exampleNewCluster,
          headers: ["Location", "Retry-After", "ETag"],
        },
      },
      errors: ["already_exists", "operation_in_progress", "conflict", "quota_exceeded"],
    },
    async (c, { deps, orgId, caller, query, readBody, requirePermission, runOnce }) => {
      const body = await readBody();
      if (body.node_pools !== undefined) requirePermission("nodepools:create");
      if (body.authorized_cidrs !== undefined) requirePermission("network:update");
      const versions = await catalogue.read();
      const classes = await capabilitiesReader.readCached();
      const capabilities = findPlanCapabilities(classes, body.plan);
      const unavailable = await findUnavailablePlan(deps.db, body.plan, classes);

      const objectName = createObjectName(body.name, "cluster");
      return runOnce({ resume: "run", storedValue: objectName }, async (attempt) => {
        const desired = toNewCluster(body, versions, {
          orgId,
          namespace: organizationNamespace(orgId),
          clusterId: attempt.id,
          objectName: attempt.storedValue ?? objectName,
          requestId: caller.author.requestId,
          nodePools: (body.node_pools ?? []).map(({ name }) => ({
            id: createId(),
            objectName: createObjectName(name, "pool"),
          })),
        });
        const { projected: cluster, effects } = await createCluster(deps, caller, desired, {
          dryRun: query.dry_run,
          details: [
            ...unavailable,
            ...findCreateViolations(body, versions, capabilities),
            ...findPastExpiries(desired, deps.now()),
          ],
          published: classes,
          warnings: findCreateWarnings(body, capabilities),
        });
        if (effects !== undefined) return c.json({ ...presentCluster(cluster, versions), effects }, 200);
        return c.json(presentCluster(cluster, versions), 202, {
          Location: locationOf(cluster),
          ETag: clusterTag(cluster, versions),
          ...RETRY_AFTER,
        });
      });
    },
  );
}

function addReads(router: Router<Deps>, catalogue: CatalogueReader): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listClusters",
      tag,
      summary: "List the clusters of an organization",
      access: "clusters:read",
      query: clusterListQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: clusterPage } },
    },
    async (c, { deps, orgId, query }) => {
      const rows = await listClusters(deps.db, orgId, query);
      const versions = await catalogue.readCached();
      return c.json(
        toPage(rows, query.limit, (cluster) => presentCluster(cluster, versions)),
        200,
      );
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getCluster",
      tag,
      summary: "Get a cluster",
      access: "clusters:read",
      responses: {
        200: { description: "The cluster.", body: clusterRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, orgId, params }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const versions = await catalogue.readCached();
      const etag = clusterTag(cluster, versions);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentCluster(cluster, versions), 200, { ETag: etag });
    },
  );
}

function addUpdate(
  router: Router<Deps>,
  { catalogue, capabilities }: PlatformReaders,
  readerOf: ReaderOf,
): void {
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "updateCluster",
      tag,
      summary: "Update a cluster",
      description:
        "Omitted fields keep their values. What GET returns may be sent back as it is. Another k8s_version starts an upgrade, as upgradeCluster does; what it finds in the cluster is in warnings, of a dry run in effects.checks, for which it needs clusters:access. An earlier expires_at, and the end of the protection of a cluster that has one, need clusters:delete too.",
      access: ["clusters:update", "clusters:upgrade"],
      query: dryRunQuery,
      body: updateClusterBody,
      responses: {
        200: {
          description: "The cluster with its new settings; of a dry run, as it would be, and the effects.",
          body: clusterRecord,
          headers: ["ETag"],
        },
      },
      errors: [
        "already_exists",
        "cluster_not_running",
        "operation_in_progress",
        "conflict",
        "managed_elsewhere",
        "precondition_failed",
        "upgrade_blocked",
      ],
    },
    async (c, { deps, orgId, membership, caller, params, query, readBody, requirePermission }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const body = await readBody();
      const versions = await (body.k8s_version === undefined ? catalogue.readCached() : catalogue.read());
      const merge = (current: typeof cluster) => mergeClusterUpdate(current, body, versions);
      const { k8s_version: target, force } = body;
      const requested = { field: "k8s_version", target, force } as const;
      const reader = readerOf(deps, caller);
      const upgrade = await checkUpgrade(deps.kube, reader, membership, cluster, merge, requested);
      const changed = await changeCluster(deps, caller, cluster, {
        action: "cluster.update",
        preconditions: readPreconditions(c),
        dryRun: query.dry_run,
        merge,
        upgrade,
        classes: await capabilities.readCached(),
        requirePermissions(patch, current) {
          const { version, ...settings } = patch;
          if (Object.keys(settings).length > 0) requirePermission("clusters:update");
          if (version !== undefined || force !== undefined) requirePermission("clusters:upgrade");
          if (schedulesDeletion(current, patch)) requirePermission("clusters:delete");
        },
      });
      const { projected: updated, effects, newVersion } = changed;
      if (effects !== undefined) {
        const checks = presentChecks("checks", membership, upgrade, newVersion);
        return c.json({ ...presentCluster(updated, versions), effects: { ...effects, ...checks } }, 200);
      }
      const warnings = presentChecks("warnings", membership, upgrade, newVersion);
      const record = { ...presentCluster(updated, versions), ...warnings };
      return c.json(record, 200, { ETag: clusterTag(updated, versions) });
    },
  );
}

function addDelete(router: Router<Deps>, catalogue: CatalogueReader, readerOf: ReaderOf): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteCluster",
      tag,
      summary: "Delete a cluster",
      description:
        "Works in every state, unless deletion_protection is true. The record has status deleting until everything is removed. A dry run lists in effects.leftovers what may stay at the provider, for which it needs clusters:access.",
      access: "clusters:delete",
      query: dryRunQuery,
      responses: {
        200: DRY_RUN,
        202: {
          description: "Accepted: the record, with status deleting.",
          body: clusterRecord,
          bodyExample: exampleDeletedCluster,
          headers: ["Location", "Retry-After"],
        },
      },
      errors: ["conflict", "deletion_protected", "precondition_failed"],
    },
    async (c, { deps, orgId, membership, caller, params, query }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const { projected: deleting, effects } = await deleteCluster(deps, caller, cluster, {
        preconditions: readPreconditions(c),
        dryRun: query.dry_run,
      });
      const record = presentCluster(deleting, await catalogue.readCached());
      if (effects !== undefined) {
        const leftovers = await readLeftovers(readerFor(readerOf(deps, caller), membership), cluster);
        return c.json({ ...record, effects: { ...effects, leftovers } }, 200);
      }
      return c.json(record, 202, { Location: locationOf(deleting), ...RETRY_AFTER });
    },
  );
}
