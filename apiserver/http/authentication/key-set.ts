import { Agent, errors, request } from "undici";
import { z } from "zod";
import { isProtectedUrl } from "../../../shared/program/config.ts";
import { type ConfiguredIssuer, discoveryUrlOf } from "./issuer-config.ts";

/** The algorithms that tokens may be signed with. */
export const ALGORITHMS = ["RS256", "ES256", "PS256", "EdDSA"] as const;

/** The largest key sets of large providers have some 20 KiB. */
const MAX_DOCUMENT_BYTES = 512 * 1024;
const FETCH_TIMEOUT_MS = 5000;

const discoverySchema = z.object({
  issuer: z.string(),
  jwks_uri: z.url().refine(isProtectedUrl, "must be https, or a loopback address"),
});
/** RFC 7517, section 5. A key that is not understood is ignored there, and here. */
const keySetSchema = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });
export type KeySet = z.output<typeof keySetSchema>;

/** A document of an issuer that is not what it should be; the message says what it is instead. */
export class DocumentError extends Error {
  override readonly name = "DocumentError";
}

/**
 * Reads the keys of one issuer from `jwksUrl`, or from the address in its discovery document, which is kept until a
 * read fails. Throws DocumentError, and what the network throws.
 */
export function createKeySetReader(
  config: ConfiguredIssuer,
  timeoutMs = FETCH_TIMEOUT_MS,
): () => Promise<KeySet> {
  const dispatcher = new Agent({
    // No connection outlives its response: reads are minutes apart.
    pipelining: 0,
    maxResponseSize: MAX_DOCUMENT_BYTES,
    connect: { timeout: timeoutMs, ...(config.caBundle === undefined ? {} : { ca: config.caBundle }) },
  });
  let keysUrl = config.jwksUrl;

  async function read(url: string, what: string): Promise<unknown> {
    const signal = AbortSignal.timeout(timeoutMs);
    let text: string;
    try {
      const { statusCode, body } = await request(url, {
        dispatcher,
        signal,
        headers: { accept: "application/json" },
      });
      text = await body.text();
      if (statusCode !== 200) throw new DocumentError(`${url} responded with ${statusCode}`);
    } catch (error) {
      if (error instanceof errors.ResponseExceededMaxSizeError)
        throw new DocumentError(`${url} sends more than ${MAX_DOCUMENT_BYTES / 1024} KiB`, { cause: error });
      if (signal.aborted || error instanceof errors.ConnectTimeoutError)
        throw new DocumentError(`${url} did not respond within ${timeoutMs / 1000} s`, { cause: error });
      throw error;
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new DocumentError(`its ${what} is not JSON`, { cause: error });
    }
  }

  async function findKeysUrl(): Promise<string> {
    const url = discoveryUrlOf(config);
    const parsed = discoverySchema.safeParse(await read(url, "discovery document"));
    if (!parsed.success)
      throw new DocumentError("its discovery document is not valid", { cause: parsed.error });
    const { issuer, jwks_uri } = parsed.data;
    // OpenID Connect Discovery 1.0, section 4.3: else another tenant of the provider could answer for it.
    if (issuer !== config.issuer) throw new DocumentError(`${url} describes another issuer: ${issuer}`);
    return jwks_uri;
  }

  return async () => {
    keysUrl ??= await findKeysUrl();
    try {
      const parsed = keySetSchema.safeParse(await read(keysUrl, "key set"));
      if (!parsed.success) throw new DocumentError("its key set is not valid", { cause: parsed.error });
      return parsed.data;
    } catch (error) {
      // The keys may have moved: the next read asks the discovery document anew.
      keysUrl = config.jwksUrl;
      throw error;
    }
  };
}

/** Throws DocumentError for a key set without a key for any accepted algorithm. */
export function requireUsableKey({ keys }: KeySet): void {
  if (!keys.some(isUsable)) throw new DocumentError(`its key set has no key for ${ALGORITHMS.join(", ")}`);
}

/** Whether a key can verify a signature of an accepted algorithm (RFC 7518, section 6; RFC 8037). */
function isUsable({ kty, use, alg, crv }: Record<string, unknown>): boolean {
  if (use !== undefined && use !== "sig") return false;
  const fitting: readonly string[] =
    kty === "RSA"
      ? ["RS256", "PS256"]
      : kty === "EC" && crv === "P-256"
        ? ["ES256"]
        : kty === "OKP" && crv === "Ed25519"
          ? ["EdDSA", "Ed25519"]
          : [];
  return alg === undefined ? fitting.length > 0 : fitting.some((name) => name === alg);
}
