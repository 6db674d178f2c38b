import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFreePort } from "../programs/free-port.ts";
import { createServerCertificate } from "../stack/certificates.ts";
import type { IdentityProviderSettings } from "../stack/identity.ts";
import { ensureSecrets, type Secrets } from "../stack/secrets.ts";
import { waitFor } from "../stack/testing.ts";
import { requestToken } from "./identity-token.ts";
import { IDENTITY_HOST, ISSUER } from "./settings.ts";

const dir = mkdtempSync(join(tmpdir(), "marina-kind-"));
let provider: ChildProcess;
let secrets: Secrets;
let address: { url: string; host: string; ca: string };

/** The identity provider as its Pod runs it, but for the address and the paths. */
beforeAll(async () => {
  secrets = await ensureSecrets(dir);
  const { ca, cert, key } = await createServerCertificate(IDENTITY_HOST);
  writeFileSync(join(dir, "tls.crt"), cert);
  writeFileSync(join(dir, "tls.key"), key);
  const settings: IdentityProviderSettings = {
    issuer: ISSUER,
    port: await findFreePort(),
    tls: { certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key") },
    clientSecret: secrets.clientSecret,
    signingKey: secrets.signingKey,
  };
  writeFileSync(join(dir, "settings.json"), JSON.stringify(settings));
  const program = join(import.meta.dirname, "..", "stack", "identity-provider.ts");
  provider = spawn(process.execPath, [program, join(dir, "settings.json")], { stdio: "ignore" });
  address = { url: `https://127.0.0.1:${settings.port}`, host: IDENTITY_HOST, ca };
  await waitFor("the identity provider", () => requestToken(address, "alice", secrets.clientSecret));
});
afterAll(async () => {
  provider.kill("SIGTERM");
  await once(provider, "exit");
  rmSync(dir, { recursive: true });
});

test("a token is of the issuer that the chart is given, whatever address it was requested at", async () => {
  const token = await requestToken(address, "alice", secrets.clientSecret);
  expect(decodeJwt(token)).toMatchObject({ iss: ISSUER, aud: "marina", email: "alice@example.com" });
});

test("no token is requested of a server with another certificate", async () => {
  const other = { ...address, ca: (await createServerCertificate(IDENTITY_HOST)).ca };
  await expect(requestToken(other, "alice", secrets.clientSecret)).rejects.toThrow("fetch failed");
});
