import type { z } from "@hono/zod-openapi";
import { mintToken, toTokenPrefix } from "../../api-tokens/index.ts";
import { recordAudit } from "../../audit/index.ts";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { versionTag } from "../../http/contract/etag.ts";
import { pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { invalidField } from "../../http/errors.ts";
import { isClusterServed } from "../../resources/project/index.ts";
import { requireRegistry } from "../backend/access.ts";
import {
  createCredentialBody,
  createdCredentialRecord,
  credentialPage,
  type credentialRecord,
} from "./schema.ts";
import { insertCredential, listCredentials, removeCredential, requireCredentialCapacity } from "./store.ts";
import type { CredentialRow } from "./table.ts";
import { CREDENTIAL_PREFIX } from "./verify.ts";

const tag = "Registry";
const COLLECTION = "/api/v1/organizations/{orgID}/registry/credentials";

/** Operations on the credentials with which clusters pull images. */
export function addCredentialRoutes(router: Router<Deps>): void {
  addCreate(router);
  addList(router);
  addDelete(router);
}

function addCreate(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createRegistryCredential",
      tag,
      summary: "Create a credential for a cluster to pull images",
      description:
        "It pulls from every repository of the organization and pushes to none, belongs to no member and ends with the cluster.",
      access: "registry:write",
      body: createCredentialBody,
      responses: {
        201: {
          description: "Created; the password is only in this response.",
          body: createdCredentialRecord,
          headers: ["Location", "ETag"],
        },
      },
      errors: ["quota_exceeded"],
    },
    async (c, { deps, orgId, author, readBody, transact }) => {
      const { host } = requireRegistry(deps.config);
      const { cluster_id: clusterId } = await readBody();
      return transact(
        async (tx, { id }) => {
          if (!(await isClusterServed(tx, orgId, clusterId)))
            throw invalidField("cluster_id", "not_found", "must be a cluster of the organization");
          await requireCredentialCapacity(tx, orgId);
          const { text, hash } = mintToken(id, CREDENTIAL_PREFIX);
          const row = { id, orgId, clusterId, secretHash: hash, createdAt: deps.now(), lastUsedAt: null };
          await insertCredential(tx, row);
          await recordAudit(tx, author, {
            action: "registry_credential.create",
            orgId,
            target: { kind: "registry_credential", id },
            after: { cluster_id: clusterId },
            result: "done",
          });
          return { row, text };
        },
        ({ row, text }) =>
          c.json(presentCreated(row, text, host), 201, {
            Location: `${c.req.path}/${row.id}`,
            ETag: CREDENTIAL_TAG,
            "Cache-Control": "no-store",
          }),
        { secret: true },
      );
    },
  );
}

function addList(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listRegistryCredentials",
      tag,
      summary: "List the credentials of clusters",
      access: "registry:read",
      query: pageQuery,
      responses: { 200: { description: "A page, ordered by creation.", body: credentialPage } },
    },
    async (c, { deps, orgId, query }) => {
      const rows = await listCredentials(deps.db, orgId, query);
      return c.json(toPage(rows, query.limit, presentCredential), 200);
    },
  );
}

function addDelete(router: Router): void {
  addRoute(
    router,
    {
      method: "delete",
      path: `${COLLECTION}/{credentialID}`,
      operationId: "deleteRegistryCredential",
      tag,
      summary: "Delete a credential",
      description: "Tokens of the registry that it was given end within five minutes.",
      access: "registry:write",
      responses: { 204: { description: "Deleted." } },
      errors: ["precondition_failed"],
    },
    async (c, { orgId, author, params: { credentialID }, change }) => {
      await change({
        lock: (tx) => removeCredential(tx, orgId, credentialID),
        tag: () => CREDENTIAL_TAG,
        apply: (tx, { id, clusterId }) =>
          recordAudit(tx, author, {
            action: "registry_credential.delete",
            orgId,
            target: { kind: "registry_credential", id },
            before: { cluster_id: clusterId },
            result: "done",
          }),
      });
      return c.body(null, 204);
    },
  );
}

/** The wire form of a credential, without its password. */
export function presentCredential(row: CredentialRow): z.output<typeof credentialRecord> {
  return {
    id: row.id,
    cluster_id: row.clusterId,
    username: toTokenPrefix(row.id, CREDENTIAL_PREFIX),
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  };
}

/** The entity tag of a credential, which never changes but for its last use. */
export const CREDENTIAL_TAG = versionTag(1);

/** The wire form of a new credential, with its password and the content of a pull secret for the registry at `host`. */
export function presentCreated(
  row: CredentialRow,
  password: string,
  host: string,
): z.output<typeof createdCredentialRecord> {
  const record = presentCredential(row);
  const auth = Buffer.from(`${record.username}:${password}`).toString("base64");
  const config = { auths: { [host]: { username: record.username, password, auth } } };
  return { ...record, password, docker_config_json: JSON.stringify(config) };
}
