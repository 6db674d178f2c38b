/** A word of a log that is long enough to be a secret or its identifying part. */
const WORD = /[A-Za-z0-9_-]{16,}/g;

const CREDENTIALS = [
  // A JSON Web Token is worthless without its signature.
  /\beyJ[\w-]+\.[\w-]+\.([\w-]+)/g,
  /\b(mar_[0-9A-Za-z]{71})\b/g,
  /\b(?:client-key-data|token|password): *"?([\w+/=.-]+)/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+([\w+/=\s]+)-----END/g,
  /\b\w+:\/\/[^:@/\s"]+:([^@/\s"]+)@/g,
];

/** The longest word of every credential in a text: a log contains it if and only if it contains the credential. */
export function findSecrets(text: string): string[] {
  return CREDENTIALS.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap(([, credential = ""]) => {
      const words = credential.match(WORD) ?? [];
      return words.toSorted((a, b) => b.length - a.length).slice(0, 1);
    }),
  );
}

/** The lines of a log that contain one of the secrets. */
export function findLeaks(log: string, secrets: ReadonlySet<string>): string[] {
  return log.split("\n").filter((line) => line.match(WORD)?.some((word) => secrets.has(word)));
}
