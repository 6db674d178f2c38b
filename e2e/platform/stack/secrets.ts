import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, type JWK } from "jose";

/** Secrets of a run directory, kept so that tokens and addresses survive a restart. */
export interface Secrets {
  postgresPassword: string;
  ownerPassword: string;
  apiserverPassword: string;
  clientSecret: string;
  /** 32 bytes in base64. */
  webhookKey: string;
  objectStoreKey: string;
  /** Signs the tokens of the registry; PEM. */
  registryKey: string;
  registryNotificationToken: string;
  signingKey: JWK;
}

const newSecret = (): string => randomBytes(18).toString("hex");

function newRegistryKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

async function createSigningKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: newSecret().slice(0, 12), alg: "RS256", use: "sig" };
}

/** Reads `<dir>/secrets.json`, created at the first start; adds what a run directory of an earlier version lacks. */
export async function ensureSecrets(dir: string): Promise<Secrets> {
  const file = join(dir, "secrets.json");
  const known: Partial<Secrets> = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const secrets: Secrets = {
    postgresPassword: newSecret(),
    ownerPassword: newSecret(),
    apiserverPassword: newSecret(),
    clientSecret: newSecret(),
    webhookKey: randomBytes(32).toString("base64"),
    objectStoreKey: newSecret(),
    registryKey: newRegistryKey(),
    registryNotificationToken: newSecret(),
    signingKey: known.signingKey ?? (await createSigningKey()),
    ...known,
  };
  writeFileSync(file, `${JSON.stringify(secrets)}\n`, { mode: 0o600 });
  return secrets;
}
