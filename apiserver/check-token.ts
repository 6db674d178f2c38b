import { text } from "node:stream/consumers";
import { z } from "zod";
import { parseEnvironment } from "../shared/program/config.ts";
import { ExplainedError, messageOf } from "../shared/program/errors.ts";
import { connectDatabase } from "./db/client.ts";
import { checkToken, type TokenCheckOptions } from "./http/authentication/check-token.ts";
import { issuerVariables } from "./http/config.ts";
import { findIssuerOf, findMappingsOf, readIssuers } from "./members/index.ts";

const variables = issuerVariables.extend({ MARINA_DATABASE_URL: z.string().optional() });

/**
 * `apiserver check-token`: reads a token from standard input and writes claim by claim what is made of it. The exit
 * code is 0 for a token that is accepted, else 1. Without a database that answers, ids are as a new installation would
 * make them.
 */
export async function runTokenCheck(environment = process.env): Promise<void> {
  const config = parseEnvironment(variables, environment);
  const { MARINA_OIDC_ISSUERS: configured, MARINA_DATABASE_URL: databaseUrl } = config;
  const token = await text(process.stdin);
  const database = databaseUrl === undefined ? undefined : connectDatabase(databaseUrl, { poolSize: 1 });
  let options: TokenCheckOptions;
  try {
    if (database === undefined) throw new Error("MARINA_DATABASE_URL is not set");
    const { db } = database;
    options = {
      issuers: await readIssuers(db, configured),
      findOwner: (userId) => findIssuerOf(db, userId),
      async findMappings(issuer, groups) {
        const mappings = await findMappingsOf(db, issuer, groups);
        return mappings.map(({ group, orgId, role }) => ({ group, organization: orgId, role }));
      },
    };
  } catch (error) {
    if (error instanceof ExplainedError) throw error;
    // The message of a failed query is the query.
    const reason = messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
    process.stdout.write(
      `The database is not used (${reason}): ids are as a new installation makes them, and groups as the configuration maps them.\n`,
    );
    const issuers = configured.map((issuer, index) => ({
      ...issuer,
      uuidSubjects: issuer.uuidSubjects ?? index === 0,
    }));
    options = {
      issuers,
      findOwner: async () => undefined,
      findMappings: async (url) => issuers.find(({ issuer }) => issuer === url)?.groups ?? [],
    };
  }
  const { isAccepted, lines } = await checkToken(token, options);
  process.stdout.write(`${lines.join("\n")}\n`);
  process.exitCode = isAccepted ? 0 : 1;
  await database?.close();
}
