import { Buffer } from "node:buffer";
import { parse } from "yaml";
import { z } from "zod";
import type { KubeConnection } from "../../shared/kube/connection.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import {
  connectTenant,
  createReadSlots,
  describeTenantError,
  READ_LIMITS,
  type TenantDeadlines,
} from "../../shared/tenant/connect.ts";
import type { TenantClient } from "../../shared/tenant/tenant-client.ts";
import { readUpgradeChecks } from "../../shared/tenant/upgrade/read-checks.ts";
import type { Deps } from "../deps.ts";
import type { Membership } from "../http/authorization/permissions.ts";
import type { Caller } from "../http/contract/caller.ts";
import { ApiError } from "../http/errors.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { readAdminSecret, requireAccessible } from "./credentials/admin-kubeconfig.ts";
import type { UpgradeChecks } from "./upgrade-decision.ts";

/** What the API server of a cluster did not say, and why. */
export interface Unknown {
  unknown: string;
}

/** Reads in clusters of tenants, whose API servers are not trusted. */
export interface TenantReader {
  /** Never rejects for what the cluster or its API server is like. Throws what `use` throws but a KubeError. */
  read<T>(cluster: ProjectedCluster, use: (client: TenantClient) => Promise<T>): Promise<T | Unknown>;
}

const NO_ACCESS: Unknown = { unknown: "It takes the permission clusters:access." };

/** Reads nothing, for a caller who may not look into clusters. */
const WITHOUT_ACCESS: TenantReader = { read: async () => NO_ACCESS };

/** What was read, for a caller with this membership. */
export function presentTo<T>({ rights }: Pick<Membership, "rights">, read: T | Unknown): T | Unknown {
  return rights.has("clusters:access") ? read : NO_ACCESS;
}

/** The reader for a caller with this membership. */
export function readerFor(reader: TenantReader, { rights }: Pick<Membership, "rights">): TenantReader {
  return rights.has("clusters:access") ? reader : WITHOUT_ACCESS;
}

/** What an upgrade to each of the targets finds in the cluster itself, blocking checks first; nothing is read without one. */
export async function readChecks(
  reader: TenantReader,
  cluster: ProjectedCluster,
  targets: readonly string[],
): Promise<(target: string) => UpgradeChecks> {
  if (targets.length === 0) return () => [];
  const found = await reader.read(cluster, (client) => readUpgradeChecks(client, targets));
  return (target) => ("unknown" in found ? found : (found.get(target) ?? []));
}

/** The reader of one request, with its dependencies: what it reads for a read or dry run ends with the request. */
export type ReaderOf = (deps: Pick<Deps, "kube">, caller: Pick<Caller, "request">) => TenantReader;

/**
 * Makes the readers of all requests, which share the slots. The waits for these and for the kubeconfig count. `limits` for
 * tests, which have less time.
 */
export function createTenantReaders(limits: Partial<TenantDeadlines> = {}): ReaderOf {
  const slots = createReadSlots();
  const { allMs, ...bounds } = { ...READ_LIMITS, ...limits };

  async function readWithin<T>(
    deps: Pick<Deps, "kube">,
    cluster: ProjectedCluster,
    signal: AbortSignal,
    use: (client: TenantClient) => Promise<T>,
  ): Promise<T | Unknown> {
    const server = cluster.object.status?.apiServerURL;
    requireAccessible(cluster);
    const connection = toTenantConnection(await readAdminSecret(deps, cluster, signal), server);
    if (connection === undefined) return { unknown: "The cluster's kubeconfig cannot be used." };
    return await connectTenant(connection, { signal, mayWrite: () => false }, use, { ...bounds, allMs });
  }

  return (deps, { request }) => ({
    async read(cluster, use) {
      const tooLong = AbortSignal.timeout(allMs);
      let release: (() => void) | undefined;
      try {
        release = await slots.take(cluster.orgId, tooLong);
        const ended = request?.signal;
        const signal = ended === undefined ? tooLong : AbortSignal.any([tooLong, ended]);
        return await readWithin(deps, cluster, signal, use);
      } catch (error) {
        if (tooLong.aborted && release === undefined)
          return { unknown: "Other clusters are being read; try again." };
        if (tooLong.aborted) return { unknown: `The cluster did not answer within ${allMs / 1000} s.` };
        if (error instanceof ApiError) return { unknown: error.message };
        if (!(error instanceof KubeError)) throw error;
        return { unknown: describeTenantError(error) };
      } finally {
        release?.();
      }
    },
  });
}

const base64 = z.base64().transform((text) => Buffer.from(text, "base64").toString("utf8"));

const kubeconfigSchema = z.object({
  clusters: z.tuple([
    z.object({ cluster: z.object({ server: z.string(), "certificate-authority-data": base64 }) }),
  ]),
  users: z.tuple([
    z.object({
      user: z.union([
        z.object({ token: z.string().min(1) }),
        z.object({ "client-certificate-data": base64, "client-key-data": base64 }),
      ]),
    }),
  ]),
});

/**
 * The CA and the credential of an admin kubeconfig, for this server alone: undefined when the kubeconfig is of another
 * one, or is none. Nothing else of it counts, so that no proxy and no other name is used.
 */
export function toTenantConnection(
  kubeconfig: string,
  server: string | undefined,
): KubeConnection | undefined {
  const parsed = kubeconfigSchema.safeParse(parseYaml(kubeconfig)).data;
  if (parsed === undefined || server === undefined) return undefined;
  const [{ cluster }] = parsed.clusters;
  if (cluster.server !== server || !server.startsWith("https://")) return undefined;
  const ca = cluster["certificate-authority-data"];
  const [{ user }] = parsed.users;
  if ("token" in user)
    return { server, ca, readHeaders: async () => ({ authorization: `Bearer ${user.token}` }) };
  return { server, ca, cert: user["client-certificate-data"], key: user["client-key-data"] };
}

function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
