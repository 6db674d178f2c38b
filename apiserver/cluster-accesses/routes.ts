import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { LABEL_ATTEMPT_ID, LABEL_ID } from "../../shared/crd/names.ts";
import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import type { Principal } from "../http/authentication/principal.ts";
import type { Membership } from "../http/authorization/permissions.ts";
import { addRoute, refuseOtherMethods } from "../http/contract/add-route.ts";
import type { Caller } from "../http/contract/caller.ts";
import { acceptedType, attachment, JSON_TYPE } from "../http/contract/download.ts";
import { objectTag, readPreconditions } from "../http/contract/etag.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { findEmails } from "../members/index.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { requireCluster, requireNotSuspended } from "../resources/write/index.ts";
import {
  type FoundAccess,
  findAccesses,
  listAccesses,
  requireAccess,
  revokeAccess,
  revokeIfThere,
} from "./accesses.ts";
import { holderOf } from "./holder.ts";
import { issueKubeconfig } from "./issue.ts";
import { presentAccess, presentForeign } from "./present.ts";
import {
  accessPage,
  accessRecord,
  foreignAccesses,
  issuedKubeconfig,
  issueKubeconfigBody,
} from "./schema.ts";

const tag = "Clusters";
const CLUSTER = "/api/v1/organizations/{orgID}/clusters/{clusterID}";
const COLLECTION = `${CLUSTER}/accesses` as const;
const RECORD = `${COLLECTION}/{accessID}` as const;
const YAML = "application/yaml";

/** Personal kubeconfigs: issued for a time, listed, and revoked one by one. */
export function addClusterAccessRoutes(router: Router<Deps>): void {
  addIssue(router);
  // Before the record: its path has the form of one.
  addForeign(router);
  addReads(router);
  addRevoke(router);
}

function addIssue(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${CLUSTER}/kubeconfig`,
      operationId: "issueKubeconfig",
      tag,
      summary: "Issue a personal kubeconfig",
      description:
        "It authenticates as the caller until it expires, is revoked, or the caller's membership ends; " +
        "that of an API token or of a member by a group expires no later than these. " +
        "With `Accept: application/yaml`, just the file.",
      access: "clusters:access",
      body: issueKubeconfigBody,
      responses: {
        201: {
          description: "Issued; the kubeconfig is only in this response.",
          body: issuedKubeconfig,
          files: [
            {
              mediaType: YAML,
              description: "The kubeconfig alone, as a file.",
              maxLength: 1_048_576,
              example: "apiVersion: v1\nkind: Config\n",
            },
          ],
          headers: ["Location", "Content-Disposition"],
        },
      },
      errors: ["cluster_not_ready", "conflict", "quota_exceeded"],
    },
    async (c, { deps, orgId, author, membership, caller, params, readBody, runOnce }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const { ttl_seconds: ttlSeconds } = await readBody();
      requireNotSuspended(cluster);
      return runOnce({ resume: "run", secret: true }, async (attempt) => {
        // The key of an attempt without a response is lost, and its access unusable.
        if (attempt.resumed) await revokeAttempts(deps, caller, cluster, attempt.id);
        const id = attempt.resumed ? createId() : attempt.id;
        const request = {
          id,
          attemptId: attempt.id,
          ttlSeconds,
          notAfter: endOf(author.principal, membership),
        };
        const { access, kubeconfig } = await issueKubeconfig(deps, caller, cluster, request);
        const headers = {
          Location: `${c.req.path.replace(/kubeconfig$/, "accesses")}/${id}`,
          "Content-Disposition": attachment(cluster.displayName, "kubeconfig.yaml"),
          "Cache-Control": "no-store",
        };
        if (acceptedType(c, [JSON_TYPE, YAML]) === YAML)
          // The file is another form of the same response, which the type of a JSON response cannot express.
          return c.body(kubeconfig, 201, { ...headers, "Content-Type": YAML }) as never;
        const [record] = await present(deps, cluster, [access]);
        if (record === undefined) throw new Error("an access has no record");
        return c.json({ ...record, kubeconfig }, 201, headers);
      });
    },
  );
}

function addReads(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listClusterAccesses",
      tag,
      summary: "List the kubeconfigs that were issued for a cluster",
      description: "Those that have not ended. The admin kubeconfig is not among them.",
      access: "clusters:access",
      query: pageQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: accessPage } },
    },
    async (c, { deps, orgId, params, query }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const found = await listAccesses(deps, cluster, query);
      const records = await present(
        deps,
        cluster,
        found.map(({ access }) => access),
      );
      return c.json(
        toPage(records, query.limit, (record) => record),
        200,
      );
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getClusterAccess",
      tag,
      summary: "Get an issued kubeconfig, without its secret",
      access: "clusters:access",
      responses: {
        200: { description: "The access, without its secret.", body: accessRecord, headers: ["ETag"] },
      },
    },
    async (c, { deps, orgId, params }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const found = await requireAccess(deps, cluster, params.accessID);
      const [record] = await present(deps, cluster, [found.access]);
      if (record === undefined) throw new Error("an access has no record");
      return c.json(record, 200, { ETag: objectTag(found.access.metadata) });
    },
  );
}

function addForeign(router: Router<Deps>): void {
  const path = `${COLLECTION}/foreign` as const;
  addRoute(
    router,
    {
      method: "get",
      path,
      operationId: "getForeignAccesses",
      tag,
      summary: "Get who administers a cluster by bindings that Marina did not make",
      description:
        "Bindings in the cluster, for people and ServiceAccounts, of every right, of every right in kube-system, or of a right that leads there (escalate, bind, impersonate). Revoking a kubeconfig leaves them. The permission `members:read` is needed too.",
      access: "clusters:access",
      responses: { 200: { description: "The bindings, as last read.", body: foreignAccesses } },
    },
    async (c, { deps, orgId, params, requirePermission }) => {
      requirePermission("members:read");
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      return c.json(presentForeign(cluster), 200);
    },
  );
  refuseOtherMethods(router, path);
}

function addRevoke(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "revokeClusterAccess",
      tag,
      summary: "Revoke an issued kubeconfig",
      description: "The cluster refuses it within seconds; all others stay valid.",
      access: "clusters:access",
      responses: { 204: { description: "Revoked." } },
      errors: ["precondition_failed"],
    },
    async (c, { deps, orgId, caller, params }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const found = await requireAccess(deps, cluster, params.accessID);
      await revokeAccess(deps, caller, cluster, found, readPreconditions(c));
      return c.body(null, 204);
    },
  );
}

async function present(deps: Deps, cluster: ProjectedCluster, accesses: readonly ClusterAccess[]) {
  const userIds = accesses.flatMap((access) => holderOf(access)?.userId ?? []);
  const emails = await findEmails(deps.db, cluster.orgId, userIds);
  const place = { orgId: cluster.orgId, clusterId: cluster.id };
  return accesses.map((access) =>
    presentAccess(access, place, emails.get(holderOf(access)?.userId ?? "") ?? null),
  );
}

/** What a token or a membership by a group got ends with it. */
function endOf(principal: Principal, { endsAt }: Membership): Date | undefined {
  return principal.kind === "token" ? new Date(principal.expiresAtMs) : (endsAt ?? undefined);
}

/** Revokes what earlier attempts of a request have left. Throws what `revokeAccess` throws. */
async function revokeAttempts(
  deps: Deps,
  caller: Caller,
  cluster: ProjectedCluster,
  attemptId: string,
): Promise<void> {
  const left = new Map<string, FoundAccess>();
  // The access of the first attempt has its id, and no label of it when an earlier version issued it.
  for (const label of [LABEL_ATTEMPT_ID, LABEL_ID]) {
    // The label of the attempt may be on anybody's.
    for (const found of await findAccesses(deps, cluster, { labelSelector: `${label}=${attemptId}` }))
      if (holderOf(found.access)?.userId === caller.author.principal.userId) left.set(found.uid, found);
  }
  for (const found of left.values()) await revokeIfThere(deps, caller, cluster, found);
}
