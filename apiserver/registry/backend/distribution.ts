import { z } from "zod";
import type { DistributionConfig } from "../config.ts";
import {
  createTokenSigner,
  type RegistryAccess,
  type RegistryClaims,
  TOKEN_LIFE_SECONDS,
} from "../tokens/sign.ts";
import type { RegistryBackend } from "./backend.ts";
import { createBackendSender, type SendToBackend, sendUntil } from "./http.ts";
import {
  createCallOci,
  createOciMethods,
  deleteReference,
  type OciConnection,
  parseResponse,
  requireStatus,
  toQuery,
} from "./oci.ts";

const SUBJECT = "marina";
/**
 * How long a token of Marina's own is used again: a page of repositories needs 51, and a signature takes as long as a
 * request.
 */
const REUSE_MS = 60_000;
/** Tenants choose the names of repositories: without a bound the tokens of a minute could fill the memory. */
const MAX_KEPT_TOKENS = 1000;
const catalogueSchema = z.object({ repositories: z.array(z.string()).nullable() });

/** The CNCF registry `distribution` v3, by the OCI distribution specification and its catalogue. */
export function createDistribution(
  config: Pick<DistributionConfig, "url" | "service" | "signingKey">,
  now: () => Date,
  send: SendToBackend = createBackendSender(),
): RegistryBackend {
  const sign = createTokenSigner(config);
  const issueToken = async (claims: RegistryClaims) => ({
    token: await sign(claims),
    lifeSeconds: TOKEN_LIFE_SECONDS,
  });
  const authorize = createAuthorize(
    (access) => sign({ subject: SUBJECT, access: [access], now: now() }),
    now,
  );
  const connect = (send: SendToBackend): RegistryBackend => {
    const call = createCallOci({ url: config.url, send, authorize });
    return {
      ...createOciMethods(call),
      endingWith: (signal) => connect(sendUntil(signal, send)),
      async listRepositories(prefix, { after, limit }) {
        const access: RegistryAccess = { type: "registry", name: "catalog", actions: ["*"] };
        const path = `/v2/_catalog?${toQuery({ after: after ?? prefix, limit })}`;
        const response = await call("GET", path, access);
        requireStatus(response, 200);
        const { repositories } = parseResponse(catalogueSchema, response);
        return (repositories ?? []).filter((name) => name.startsWith(prefix));
      },
      deleteTag: (repository, tag) => deleteReference(call, repository, tag),
      issueToken,
      ownScans: undefined,
    };
  };
  return connect(send);
}

/**
 * Signs a token for each access once a minute. All are forgotten together: when the minute is over, or when they are
 * too many.
 */
function createAuthorize(
  sign: (access: RegistryAccess) => Promise<string>,
  now: () => Date,
): OciConnection["authorize"] {
  const tokens = new Map<string, string>();
  let sinceMs = now().getTime();
  return async (access) => {
    const isOver = Math.abs(now().getTime() - sinceMs) > REUSE_MS;
    if (isOver || tokens.size >= MAX_KEPT_TOKENS) {
      tokens.clear();
      sinceMs = now().getTime();
    }
    const key = `${access.type} ${access.name} ${access.actions.join()}`;
    const token = tokens.get(key) ?? (await sign(access));
    tokens.set(key, token);
    return `Bearer ${token}`;
  };
}
