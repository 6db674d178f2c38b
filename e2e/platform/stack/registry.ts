import { spawn } from "node:child_process";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { calculateJwkThumbprint, exportJWK } from "jose";
import { stringify } from "yaml";
import { PINNED_DIR } from "./go-module.ts";
import { ensureGoTool, type PinnedTool, pathOfGoTool } from "./go-tool.ts";
import type { Ports } from "./ports.ts";
import { requireOpenPort } from "./probes.ts";
import type { Secrets } from "./secrets.ts";
import type { ProcessNode } from "./supervisor.ts";

/** The registry, as the API server's configuration names it. */
export interface RegistryInfo {
  url: string;
  host: string;
  service: string;
  signingKey: string;
  notificationToken: string;
  scanner: { command: string; databaseDir: string };
}

interface Run {
  dir: string;
  ports: Ports;
  secrets: Secrets;
}

interface RegistryRun extends Run {
  /** URL of the API server, which issues the tokens and receives the notifications. */
  apiUrl: string;
}

const SERVICE = "marina-registry";

/** The registry's program. */
export const REGISTRY: PinnedTool = {
  name: "registry",
  goPackage: "github.com/distribution/distribution/v3/cmd/registry",
  moduleDir: PINNED_DIR,
  module: "github.com/distribution/distribution/v3",
};
const CRANE: PinnedTool = {
  name: "crane",
  goPackage: "github.com/google/go-containerregistry/cmd/crane",
  moduleDir: PINNED_DIR,
  module: "github.com/google/go-containerregistry",
};
/** The scanner of images. */
export const GRYPE: PinnedTool = {
  name: "grype",
  goPackage: "github.com/anchore/grype/cmd/grype",
  moduleDir: PINNED_DIR,
  module: "github.com/anchore/grype",
};
const DATABASE_WRITER: PinnedTool = {
  ...GRYPE,
  name: "vulnerability-database",
  goPackage: "./vulnerability-database",
  sources: ["vulnerability-database/main.go"],
};

/** Pushes and pulls images. */
export const ensureCrane = (): Promise<string> => ensureGoTool(CRANE);
/** The path of the scanner. */
export const ensureGrype = (): Promise<string> => ensureGoTool(GRYPE);

/** The registry of a run directory; whether it is there yet is another question. */
export async function registryOf({ dir, ports, secrets }: Run): Promise<RegistryInfo> {
  return {
    url: `http://127.0.0.1:${ports.registry}`,
    host: `localhost:${ports.registry}`,
    service: SERVICE,
    signingKey: secrets.registryKey,
    notificationToken: secrets.registryNotificationToken,
    scanner: { command: await pathOfGoTool(GRYPE), databaseDir: join(dir, "vulnerability-database") },
  };
}

/** A registry on a folder. The stack is ready without it: at the first start its program is built afterwards. */
export function registryNode(run: RegistryRun): ProcessNode {
  const port = run.ports.registry ?? 0;
  return {
    name: "registry",
    after: [],
    async process() {
      const home = join(run.dir, "registry");
      mkdirSync(join(home, "data"), { recursive: true });
      const jwks = join(home, "jwks.json");
      writeFileSync(jwks, JSON.stringify({ keys: [await toPublicJwk(run.secrets.registryKey)] }));
      const file = join(home, "config.yaml");
      writeFileSync(file, stringify(describeRegistry(run, home, jwks)), { mode: 0o600 });
      return {
        command: await pathOfGoTool(REGISTRY),
        args: ["serve", file],
        env: { OTEL_TRACES_EXPORTER: "none" },
        probe: () => requireOpenPort(port),
        stopTimeoutMs: 2000,
      };
    },
  };
}

async function toPublicJwk(pem: string) {
  const jwk = await exportJWK(createPublicKey(createPrivateKey(pem)));
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: "ES256", use: "sig" };
}

function describeRegistry({ ports, secrets, apiUrl }: RegistryRun, home: string, jwks: string): object {
  return {
    version: 0.1,
    log: { level: "warn", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(home, "data") }, delete: { enabled: true } },
    http: { addr: `127.0.0.1:${ports.registry}`, secret: secrets.registryNotificationToken },
    auth: {
      token: {
        // go-containerregistry refuses a realm on a literal loopback address.
        realm: `${apiUrl.replace("127.0.0.1", "localhost")}/registry/token`,
        service: SERVICE,
        issuer: "marina",
        jwks,
        signingalgorithms: ["ES256"],
      },
    },
    notifications: {
      endpoints: [
        {
          name: "marina",
          url: `${apiUrl}/registry/notifications`,
          headers: { Authorization: [`Bearer ${secrets.registryNotificationToken}`] },
          timeout: "2s",
          threshold: 3,
          backoff: "1s",
        },
      ],
    },
  };
}

/** A record of the vulnerability database of a test. */
export interface TestVulnerability {
  id: string;
  severity: string;
  package: string;
  fixVersion?: string;
  description?: string;
  links?: string[];
}

/** Writes a vulnerability database for grype into a folder, in place of the one that is there. */
export async function writeVulnerabilityDatabase(
  folder: string,
  records: readonly TestVulnerability[],
): Promise<void> {
  const child = spawn(await ensureGoTool(DATABASE_WRITER), [folder], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  child.stdin.end(JSON.stringify(records));
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`the vulnerability database was not written: ${code}`);
}
