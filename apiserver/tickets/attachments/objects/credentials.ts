import { readFile } from "node:fs/promises";
import type { StaticCredentials, WebIdentity } from "../config.ts";
import { type SendToStore, StoreError } from "./http.ts";

/** Temporary credentials are taken anew this long before they end, so that no address outlives them. */
const RENEW_BEFORE_MS = 20 * 60_000;
const SESSION_NAME = "marina-apiserver";

export interface Credentials extends StaticCredentials {
  sessionToken?: string;
}

interface TakenCredentials extends Credentials {
  endsAtMs: number;
}

/** The credentials for the next request. Throws StoreError when none can be had. */
export type ReadCredentials = () => Promise<Credentials>;

/** Returns static keys; keys of a role are cached until shortly before they expire, one request for all callers. */
export function createCredentials(
  source: StaticCredentials | WebIdentity,
  send: SendToStore,
  now: () => Date,
): ReadCredentials {
  if ("accessKeyId" in source) return () => Promise.resolve(source);
  let kept: Promise<TakenCredentials> | undefined;
  /** One request for all callers that have found the same ones too old. */
  const renew = (old?: Promise<TakenCredentials>): Promise<TakenCredentials> => {
    if (kept !== undefined && kept !== old) return kept;
    const taken = assumeRole(source, send);
    kept = taken;
    taken.catch(() => {
      if (kept === taken) kept = undefined;
    });
    return taken;
  };
  return async () => {
    const current = kept ?? renew();
    const known = await current;
    return known.endsAtMs - RENEW_BEFORE_MS > now().getTime() ? known : renew(current);
  };
}

/** AssumeRoleWithWebIdentity of the AWS Security Token Service, which S3-compatible stores have too. */
async function assumeRole(
  { tokenFile, roleArn, stsEndpoint }: WebIdentity,
  send: SendToStore,
): Promise<TakenCredentials> {
  const body = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: roleArn,
    RoleSessionName: SESSION_NAME,
    WebIdentityToken: await readToken(tokenFile),
  }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const { status, text } = await send({ method: "POST", url: stsEndpoint, headers, body });
  const [accessKeyId, secretAccessKey, sessionToken, expiration] = [
    "AccessKeyId",
    "SecretAccessKey",
    "SessionToken",
    "Expiration",
  ].map((name) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1]);
  const endsAtMs = Date.parse(expiration ?? "");
  const isWhole =
    status === 200 && accessKeyId !== undefined && secretAccessKey !== undefined && !Number.isNaN(endsAtMs);
  if (!isWhole) throw new StoreError("no_credentials", `the role was not given: status ${status}`);
  return {
    accessKeyId,
    secretAccessKey,
    endsAtMs,
    ...(sessionToken === undefined ? {} : { sessionToken }),
  };
}

/** Read anew each time: the file is replaced before its token ends. */
async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new StoreError("no_credentials", "the token of the web identity cannot be read", { cause: error });
  }
}
