import { type ClusterAccess, isUserId } from "../../shared/crd/cluster-access.ts";
import { LABEL_API_TOKEN_ID, LABEL_API_TOKEN_VERSION, LABEL_USER_ID } from "../../shared/crd/names.ts";
import { idSchema } from "../http/contract/validate.ts";
import { organizationNamespace } from "../organizations/index.ts";

/** Who holds an access. */
export interface Holder {
  userId: string;
  /** The API token that requested it for the user. */
  tokenId: string | undefined;
  /** The version of the token at that time; the first one where the access does not say it. */
  tokenVersion: number;
}

/** The organization whose Namespace an access is in, whatever its labels say. */
export function organizationOf({ metadata: { namespace } }: ClusterAccess): string | undefined {
  const orgId = parseId(namespace?.replace(/^org-/, ""));
  return orgId !== undefined && namespace === organizationNamespace(orgId) ? orgId : undefined;
}

/**
 * The holder of an access that REST issued; undefined for one that was applied by kubectl. The subject says who it is, before the
 * label: nobody changes it, and only REST and a restore create one that is the id of a user.
 */
export function holderOf({ metadata, spec }: ClusterAccess): Holder | undefined {
  const { labels = {} } = metadata;
  const userId = parseId(isUserId(spec.subject) ? spec.subject : labels[LABEL_USER_ID]);
  if (userId === undefined) return undefined;
  const tokenVersion = Number.parseInt(labels[LABEL_API_TOKEN_VERSION] ?? "1", 10);
  return { userId, tokenId: parseId(labels[LABEL_API_TOKEN_ID]), tokenVersion };
}

/** The id that a label holds. Labels can hold anything: undefined for a value that is no id. */
export function parseId(label: string | undefined): string | undefined {
  const parsed = idSchema.safeParse(label);
  return parsed.success ? parsed.data : undefined;
}
