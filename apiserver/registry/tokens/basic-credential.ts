import { ApiError } from "../../http/errors.ts";

const MAX_LENGTH = 16_384;

/** The password of an HTTP Basic credential (RFC 7617); undefined for any other header. */
export function readBasicPassword(authorization: string | undefined): string | undefined {
  const [, encoded = ""] =
    /^basic +([A-Za-z0-9+/=]+)$/i.exec(authorization?.slice(0, MAX_LENGTH) ?? "") ?? [];
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  const password = text.slice(colon + 1);
  return colon === -1 || password === "" ? undefined : password;
}

/** 401 that asks for a password, which clients of registries speak (RFC 7617). */
export function passwordRefused(message: string): ApiError {
  return new ApiError("unauthorized", message, {
    headers: { "WWW-Authenticate": 'Basic realm="registry", charset="UTF-8"' },
  });
}
