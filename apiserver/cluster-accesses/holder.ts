import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { LABEL_API_TOKEN_ID, LABEL_ORG_ID, LABEL_USER_ID } from "../../shared/crd/names.ts";
import { idSchema } from "../http/contract/validate.ts";

/** Whose an access is, as its labels say. */
export interface Holder {
  orgId: string;
  userId: string;
  /** The API token that asked for it in the user's name. */
  tokenId: string | undefined;
}

/** The holder of an access that REST issued; undefined for one that was made by hand. */
export function holderOf({ metadata: { labels = {} } }: ClusterAccess): Holder | undefined {
  const [orgId, userId] = [labels[LABEL_ORG_ID], labels[LABEL_USER_ID]].map(parseId);
  if (orgId === undefined || userId === undefined) return undefined;
  return { orgId, userId, tokenId: parseId(labels[LABEL_API_TOKEN_ID]) };
}

/** Labels are anybody's who may write the object: what is no id is not asked for. */
function parseId(label: string | undefined): string | undefined {
  const parsed = idSchema.safeParse(label);
  return parsed.success ? parsed.data : undefined;
}
