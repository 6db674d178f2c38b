import { Agent, fetch } from "undici";
import { StartError } from "../programs/start-error.ts";
import type { UserName } from "../stack/users.ts";

export interface IdentityAddress {
  /** Where the identity provider is reached, which may be another name than its certificate's. */
  url: string;
  /** The name in its certificate. */
  host: string;
  ca: string;
}

/** A fresh access token of a user of the development identity provider. Throws StartError when it gives none. */
export async function requestToken(
  { url, host, ca }: IdentityAddress,
  user: UserName,
  clientSecret: string,
): Promise<string> {
  const dispatcher = new Agent({ connect: { ca, servername: host } });
  try {
    const response = await fetch(`${url}/token`, {
      dispatcher,
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`${user}:${clientSecret}`).toString("base64")}` },
      body: new URLSearchParams({ grant_type: "client_credentials" }),
      signal: AbortSignal.timeout(10_000),
    });
    const { access_token: token } = (await response.json()) as { access_token?: string };
    if (token === undefined)
      throw new StartError(`The identity provider gives no token (${response.status}).`);
    return token;
  } finally {
    await dispatcher.close();
  }
}
