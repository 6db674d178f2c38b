import { z } from "zod";
import type { DistributionConfig } from "../../registry-config.ts";
import {
  createTokenSigner,
  type RegistryAccess,
  type RegistryClaims,
  TOKEN_LIFE_SECONDS,
} from "../tokens/sign.ts";
import type { RegistryBackend } from "./backend.ts";
import { createSender } from "./http.ts";
import {
  createCallOci,
  createOciMethods,
  deleteReference,
  parseResponse,
  requireStatus,
  toQuery,
} from "./oci.ts";

const SUBJECT = "marina";
const catalogueSchema = z.object({ repositories: z.array(z.string()).nullable() });

/** The CNCF registry `distribution` v3, by the OCI distribution specification and its catalogue. */
export function createDistribution(
  config: Pick<DistributionConfig, "url" | "service" | "signingKey">,
  now: () => Date,
): RegistryBackend {
  const sign = createTokenSigner(config);
  const issueToken = async (claims: RegistryClaims) => ({
    token: await sign(claims),
    lifeSeconds: TOKEN_LIFE_SECONDS,
  });
  const authorize = async (access: RegistryAccess) => {
    const { token } = await issueToken({ subject: SUBJECT, access: [access], now: now() });
    return `Bearer ${token}`;
  };
  const call = createCallOci({ url: config.url, send: createSender(), authorize });
  return {
    ...createOciMethods(call),
    async listRepositories(prefix, { after, limit }) {
      const access: RegistryAccess = { type: "registry", name: "catalog", actions: ["*"] };
      const response = await call(
        "GET",
        `/v2/_catalog?${toQuery({ after: after ?? prefix, limit })}`,
        access,
      );
      requireStatus(response, 200);
      const { repositories } = parseResponse(catalogueSchema, response);
      return (repositories ?? []).filter((name) => name.startsWith(prefix));
    },
    deleteTag: (repository, tag) => deleteReference(call, repository, tag),
    issueToken,
    ownScans: undefined,
  };
}
