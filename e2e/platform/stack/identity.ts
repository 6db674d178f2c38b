import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JWK } from "jose";
import { StartError } from "../programs/start-error.ts";
import type { Ports } from "./ports.ts";
import { requireHttpOk } from "./probes.ts";
import type { Secrets } from "./secrets.ts";
import type { ProcessNode } from "./supervisor.ts";
import { USER_NAMES, type UserName } from "./users.ts";

/** The settings file of the identity provider's process. */
export interface IdentityProviderSettings {
  issuer: string;
  port: number;
  /** Where it listens: 127.0.0.1 unless given. */
  address?: string;
  /** PEM files; without them it speaks plain HTTP. */
  tls?: { certFile: string; keyFile: string };
  clientSecret: string;
  signingKey: JWK;
}

export interface IdentityDeps {
  dir: string;
  ports: Ports;
  secrets: Secrets;
}

/** The issuer of a run directory. */
export function issuerOf(ports: Ports): string {
  return `http://127.0.0.1:${ports["identity-provider"]}`;
}

/** An OpenID provider that issues JWT access tokens to the users of users.ts. */
export function identityNode({ dir, ports, secrets }: IdentityDeps): ProcessNode {
  const issuer = issuerOf(ports);
  return {
    name: "identity-provider",
    after: [],
    process() {
      const file = join(dir, "identity-provider.json");
      const settings: IdentityProviderSettings = {
        issuer,
        port: ports["identity-provider"] ?? 0,
        clientSecret: secrets.clientSecret,
        signingKey: secrets.signingKey,
      };
      writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
      return {
        command: process.execPath,
        args: [join(import.meta.dirname, "identity-provider.ts"), file],
        probe: () => requireHttpOk(`${issuer}/.well-known/openid-configuration`),
        stopTimeoutMs: 1000,
      };
    },
  };
}

/** A fresh access token of one user, valid for 12 hours. */
export async function requestToken(issuer: string, user: UserName, clientSecret: string): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`${user}:${clientSecret}`).toString("base64")}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
    signal: AbortSignal.timeout(5000),
  });
  const body = (await response.json()) as { access_token?: string; error_description?: string };
  if (body.access_token === undefined) {
    throw new StartError(
      `The identity provider at ${issuer} gives no token: ${body.error_description ?? response.status}`,
    );
  }
  return body.access_token;
}

/** Fresh tokens of all users. */
export async function requestTokens(issuer: string, clientSecret: string): Promise<Record<UserName, string>> {
  const entries = USER_NAMES.map(
    async (user) => [user, await requestToken(issuer, user, clientSecret)] as const,
  );
  return Object.fromEntries(await Promise.all(entries)) as Record<UserName, string>;
}
