/** A word of a log that is long enough to be a secret, or the part of one that gives it away. */
const WORD = /[A-Za-z0-9_-]{16,}/g;

const CREDENTIALS = [
  // A JSON Web Token is worth nothing without its last part.
  /\beyJ[\w-]+\.[\w-]+\.([\w-]+)/g,
  /\b(mar_[0-9A-Za-z]{71})\b/g,
  /\b(?:client-key-data|token|password): *"?([\w+/=.-]+)/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+([\w+/=\s]+)-----END/g,
  /\b\w+:\/\/[^:@/\s]+:([^@/\s]+)@/g,
];

/** Of every credential in a text the longest word, which is in a log exactly if the credential is. */
export function findSecrets(text: string): string[] {
  return CREDENTIALS.flatMap((pattern) =>
    [...text.matchAll(pattern)].flatMap(([, credential = ""]) => {
      const words = credential.match(WORD) ?? [];
      return words.toSorted((a, b) => b.length - a.length).slice(0, 1);
    }),
  );
}

/** The lines of a log that hold one of the secrets. */
export function findLeaks(log: string, secrets: ReadonlySet<string>): string[] {
  return log.split("\n").filter((line) => line.match(WORD)?.some((word) => secrets.has(word)));
}
