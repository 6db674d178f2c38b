import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ipaddr from "ipaddr.js";
import { isDueForRenewal, isSignedBy, issueCertificate, type KeyPair, type Subject } from "./pki.ts";

/** The programs of a tenant cluster. */
export const PROGRAMS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"] as const;
export type Program = (typeof PROGRAMS)[number];

/** A tenant cluster on this machine; `namespace` and `name` are those of its Cluster. */
export interface Tenant {
  namespace: string;
  name: string;
}

/** Networks of a cluster that names none. */
export const POD_CIDRS: string[] = ["10.128.0.0/16"];
export const SERVICE_CIDRS: string[] = ["10.96.0.0/16"];

/** "namespace.name"; a namespace contains no dot. */
export function idOf({ namespace, name }: Tenant): string {
  return `${namespace}.${name}`;
}

/** The inverse of `idOf`. */
export function tenantOf(id: string): Tenant {
  const dot = id.indexOf(".");
  return { namespace: id.slice(0, dot), name: id.slice(dot + 1) };
}

/** The unique name of a process among all tenants. */
export function processNameOf(tenant: Tenant, program: Program): string {
  return `${idOf(tenant)}.${program}`;
}

/** The tenant of a process name. */
export function tenantOfProcess(processName: string): Tenant {
  return tenantOf(processName.slice(0, processName.lastIndexOf(".")));
}

/** Prefix of the tenant's keys in etcd. */
export function etcdPrefixOf({ namespace, name }: Tenant): string {
  return `/tenants/${namespace}/${name}`;
}

/** The authorities and keys of a tenant, from its Secrets. */
export interface Authorities {
  ca: KeyPair;
  proxy: KeyPair;
  serviceAccountKey: string;
  serviceAccountPublicKey: string;
}

/** The folders of a tenant. */
export interface TenantFiles {
  dir: string;
  logsDir: string;
  path(file: string): string;
}

const CLIENTS: Record<string, Subject> = {
  "kube-controller-manager": {
    commonName: "system:kube-controller-manager",
    organizations: ["system:masters"],
  },
  "kube-scheduler": { commonName: "system:kube-scheduler" },
  kwok: { commonName: "marina:kwok", organizations: ["system:masters"] },
  provider: { commonName: "marina:local-provider", organizations: ["system:masters"] },
};

function describeServer(serviceCIDRs: readonly string[]): Subject {
  return {
    commonName: "kube-apiserver",
    // The Service `kubernetes` has the first address of the Services.
    ips: ["127.0.0.1", ...serviceCIDRs.map(firstAddressOf)],
    dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
  };
}

/** The first address that something in a network (CIDR notation) may have. */
export function firstAddressOf(cidr: string): string {
  const family = ipaddr.parseCIDR(cidr)[0].kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
  const bytes = family.networkAddressFromCIDR(cidr).toByteArray();
  return ipaddr.fromByteArray(bytes.with(-1, (bytes.at(-1) ?? 0) + 1)).toString();
}

/** The folders of a tenant below the run directory. */
export function filesOf(runDir: string, tenant: Tenant): TenantFiles {
  const dir = join(runDir, "tenants", idOf(tenant));
  return { dir, logsDir: join(runDir, "logs", "tenants", idOf(tenant)), path: (file) => join(dir, file) };
}

function writeFile(path: string, text: string): void {
  // Replaced atomically: a program that reloads its certificate must never read a partial file.
  const draft = `${path}.part`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}

function readIfThere(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

async function ensureLeaf(files: TenantFiles, name: string, authority: KeyPair, subject: Subject, now: Date) {
  const kept = readIfThere(files.path(`${name}.crt`));
  const isGood = kept !== undefined && isSignedBy(kept, authority.certificate) && !isDueForRenewal(kept, now);
  if (isGood && existsSync(files.path(`${name}.key`))) return;
  const { certificate, key } = await issueCertificate(authority, subject);
  writeFile(files.path(`${name}.key`), key);
  writeFile(files.path(`${name}.crt`), certificate);
}

/** A kubeconfig that names files, so that a renewed certificate is read without a restart. */
function kubeconfigWithFiles(files: TenantFiles, client: string, apiserverPort: number): string {
  const cluster = {
    server: `https://127.0.0.1:${apiserverPort}`,
    "certificate-authority": files.path("ca.crt"),
  };
  const user = {
    "client-certificate": files.path(`${client}.crt`),
    "client-key": files.path(`${client}.key`),
  };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "tenant",
    clusters: [{ name: "tenant", cluster }],
    users: [{ name: client, user }],
    contexts: [{ name: "tenant", context: { cluster: "tenant", user: client } }],
  });
}

/** Hash of the inputs of the files: when it is unchanged there is nothing to write. */
export function hashOfAuthorities(authorities: Authorities, apiserverPort: number): string {
  return createHash("sha256")
    .update(JSON.stringify([authorities, apiserverPort]))
    .digest("hex")
    .slice(0, 16);
}

/** Writes the keys, certificates and kubeconfigs of a tenant's programs; valid ones are kept. */
export async function writeTenantFiles(
  files: TenantFiles,
  authorities: Authorities,
  { apiserverPort, serviceCIDRs }: { apiserverPort: number; serviceCIDRs: readonly string[] },
  now: Date,
): Promise<void> {
  mkdirSync(files.dir, { recursive: true, mode: 0o700 });
  const { ca, proxy } = authorities;
  writeFile(files.path("ca.crt"), ca.certificate);
  // For the controller manager of a control plane that signs requests.
  writeFile(files.path("ca.key"), ca.key);
  writeFile(files.path("proxy-ca.crt"), proxy.certificate);
  writeFile(files.path("service-account.key"), authorities.serviceAccountKey);
  writeFile(files.path("service-account.pub"), authorities.serviceAccountPublicKey);
  await ensureLeaf(files, "kube-apiserver", ca, describeServer(serviceCIDRs), now);
  await ensureLeaf(files, "front-proxy-client", proxy, { commonName: "front-proxy-client" }, now);
  for (const [client, subject] of Object.entries(CLIENTS)) {
    await ensureLeaf(files, client, ca, subject, now);
    writeFile(files.path(`${client}.kubeconfig`), kubeconfigWithFiles(files, client, apiserverPort));
  }
  writeFile(files.path("complete"), hashOfAuthorities(authorities, apiserverPort));
}

/** Whether the files are up to date and no certificate is due for renewal. */
export function areFilesGood(files: TenantFiles, hash: string, now: Date): boolean {
  if (readIfThere(files.path("complete")) !== hash) return false;
  return ["kube-apiserver", "front-proxy-client", ...Object.keys(CLIENTS)].every((name) => {
    const certificate = readIfThere(files.path(`${name}.crt`));
    return certificate !== undefined && !isDueForRenewal(certificate, now);
  });
}

/** Removes the files and logs of a tenant. */
export function removeTenantFiles(files: TenantFiles): void {
  rmSync(files.dir, { recursive: true, force: true });
  rmSync(files.logsDir, { recursive: true, force: true });
}
