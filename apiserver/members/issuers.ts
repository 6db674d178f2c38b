import type { Database, Queryable } from "../db/client.ts";
import type { ConfiguredIssuer, IssuerConfig } from "../http/authentication/issuer-config.ts";
import { decideIdRules, type KnownIssuer } from "./id-rules.ts";
import {
  findIdRules,
  hasUsers,
  listFormerIssuers,
  lockIssuers,
  moveUsers,
  upsertIdRules,
} from "./issuer-store.ts";

/**
 * Records how the ids of each issuer's users are made, and gives the users of a former URL of an issuer (the
 * `idNamespace` says which) to the new one. Throws ExplainedError for a change that would make new people of users, and
 * has then changed nothing.
 */
export function recordIssuers(
  db: Database,
  configured: readonly ConfiguredIssuer[],
): Promise<IssuerConfig[]> {
  return db.transaction(async (tx) => {
    await lockIssuers(tx);
    const decided: IssuerConfig[] = [];
    for (const config of configured) {
      const { known, formerUrls } = await inspectIssuer(tx, config, configured);
      const rules = decideIdRules(config, known, config === configured[0]);
      await moveUsers(tx, formerUrls, config.issuer);
      await upsertIdRules(tx, config.issuer, rules);
      decided.push({ ...config, ...rules });
    }
    return decided;
  });
}

/** The issuers as recordIssuers would decide, without recording anything. Throws what it throws. */
export async function readIssuers(
  db: Queryable,
  configured: readonly ConfiguredIssuer[],
): Promise<IssuerConfig[]> {
  const decided: IssuerConfig[] = [];
  for (const config of configured) {
    const { known } = await inspectIssuer(db, config, configured);
    decided.push({ ...config, ...decideIdRules(config, known, config === configured[0]) });
  }
  return decided;
}

async function inspectIssuer(
  db: Queryable,
  { issuer, idNamespace }: ConfiguredIssuer,
  configured: readonly ConfiguredIssuer[],
): Promise<{ known: KnownIssuer; formerUrls: string[] }> {
  const urls = configured.map((config) => config.issuer);
  const formerIssuers = await listFormerIssuers(db, idNamespace, urls);
  const formerUrls = formerIssuers.map(({ url }) => url);
  const recorded = (await findIdRules(db, issuer)) ?? formerIssuers[0];
  const all = [issuer, ...formerUrls];
  const hasMadeIds = recorded === undefined && (await hasUsers(db, all, { version5: true }));
  return { known: { recorded, hasUsers: await hasUsers(db, all), hasMadeIds }, formerUrls };
}
