import { matchesHash, parseTokenId } from "../../api-tokens/index.ts";
import type { Deps } from "../../deps.ts";
import type { CredentialControl } from "../../http/rate-limits/rate-limit.ts";
import { passwordRefused } from "../tokens/sign.ts";
import { findLiveCredential, recordCredentialUse } from "./store.ts";
import type { CredentialRow } from "./table.ts";

/** By which people and secret scanners recognize the password of a credential. */
export const CREDENTIAL_PREFIX = "mrc_";

/** The time of the last use is written at most once per credential in this time. */
const USE_GRANULARITY_MS = 60_000;
/** How many credentials it is remembered of that they were accepted. */
const KNOWN_CREDENTIALS = 10_000;

/** Looks a credential up at every request, so that its end and that of its cluster take effect immediately. */
export function createCredentialControl({
  db,
  now,
}: Pick<Deps, "db" | "now">): CredentialControl<CredentialRow> {
  const acceptedHashes = new Map<string, string>();
  const idOf = (password: string) => parseTokenId(password, CREDENTIAL_PREFIX);
  return {
    isWellFormed: (password) => idOf(password) !== undefined,
    isKnown(password) {
      const hash = acceptedHashes.get(idOf(password) ?? "");
      return hash !== undefined && matchesHash(password, hash);
    },
    async authenticate(password) {
      const id = idOf(password);
      const row = id === undefined ? undefined : await findLiveCredential(db, id);
      if (row === undefined || !matchesHash(password, row.secretHash)) {
        // A guess with the id of a valid credential does not make that unknown.
        if (id !== undefined && row === undefined) acceptedHashes.delete(id);
        throw passwordRefused("The password is not a credential of a cluster that is valid now.");
      }
      if (acceptedHashes.size >= KNOWN_CREDENTIALS)
        acceptedHashes.delete(acceptedHashes.keys().next().value ?? "");
      acceptedHashes.set(row.id, row.secretHash);
      const at = now();
      if (at.getTime() - (row.lastUsedAt?.getTime() ?? 0) >= USE_GRANULARITY_MS)
        await recordCredentialUse(db, row, at);
      return row;
    },
  };
}
