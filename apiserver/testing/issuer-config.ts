import { type IssuerConfig, type IssuerInput, issuerSchema } from "../http/authentication/issuer-config.ts";

/** The configuration of an issuer whose subjects are UUIDs of users, unless told otherwise. */
export function makeIssuerConfig(input: IssuerInput): IssuerConfig {
  const { uuidSubjects = true, ...config } = issuerSchema.parse(input);
  return { ...config, uuidSubjects };
}
