import type { Queryable } from "../../db/client.ts";
import { invalidField } from "../../http/errors.ts";
import { readPackages, sharePackages } from "./store.ts";

/**
 * Until the end of the transaction the package is one that a new cluster can have. Throws 422 for one that is unknown or
 * retired.
 */
export async function requireOffered(tx: Queryable, slug: string): Promise<void> {
  await sharePackages(tx);
  const offered = (await readPackages(tx)).filter(({ retired }) => !retired).map((one) => one.slug);
  if (offered.includes(slug)) return;
  const choice =
    offered.length === 0
      ? "must be left out: no plan is on offer"
      : `must be ${offered.join(", ")} or left out`;
  throw invalidField("plan", "invalid_enum", choice);
}
