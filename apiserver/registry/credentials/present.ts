import type { z } from "@hono/zod-openapi";
import { toTokenPrefix } from "../../api-tokens/index.ts";
import { versionTag } from "../../http/contract/etag.ts";
import type { createdCredentialRecord, credentialRecord } from "./schema.ts";
import type { CredentialRow } from "./table.ts";
import { CREDENTIAL_PREFIX } from "./verify.ts";

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
