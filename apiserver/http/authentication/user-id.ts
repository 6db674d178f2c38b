import { createHash } from "node:crypto";
import type { IssuerConfig } from "./issuer-config.ts";

/** RFC 9562, section 6.6. */
const URL_NAMESPACE = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The user's id: the subject itself when it is a UUID and those of the issuer are ids, else a UUID of version 5 of the
 * issuer's namespace and the subject. A subject of version 5 is never an id: it could be one that was made for another
 * issuer's user.
 */
export function toUserId(
  subject: string,
  { uuidSubjects, idNamespace }: Pick<IssuerConfig, "uuidSubjects" | "idNamespace">,
): string {
  const version = UUID.exec(subject)?.[1];
  if (uuidSubjects && version !== undefined && version !== "5") return subject.toLowerCase();
  return makeUuidV5(makeUuidV5(URL_NAMESPACE, idNamespace), subject);
}

/** RFC 9562, section 5.5: SHA-1 of the namespace and the name's bytes in UTF-8. */
function makeUuidV5(namespace: string, text: string): string {
  const digest = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(text, "utf8")
    .digest()
    .subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  return digest.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
