import { secretKind } from "../../../shared/kube/core-kinds.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import { isPortFree } from "../../stack/ports.ts";
import { messageOf } from "../../stack/start-error.ts";
import { type Context, findByTenant, findTenant } from "../context.ts";
import { findOwnerName } from "../engine-kinds.ts";
import type { LocalControlPlane } from "../kinds.ts";
import { hashOfSpec, type ProgramState } from "../processes.ts";
import { describePrograms } from "../programs.ts";
import {
  areFilesGood,
  filesOf,
  hashOfAuthorities,
  idOf,
  PROGRAMS,
  type Program,
  processNameOf,
  removeTenantFiles,
  type Tenant,
  writeTenantFiles,
} from "../tenant.ts";
import {
  areSecretsGood,
  findSecrets,
  makeKubeconfig,
  makeMissingKeys,
  readAuthorities,
} from "../tenant-secrets.ts";
import type { ControlPlaneEffect, ObservedControlPlane } from "./reconcile.ts";

export const FIELD_MANAGER = "marina-local-provider";
/** Each start takes a core for seconds: seven at once took 8 to 14 s each, one alone 2.7 s. */
const MAX_STARTING = 2;

function serverOf(context: Context, tenant: Tenant): string | undefined {
  const { host, port } = findByTenant(context.stores.clusters, tenant)?.spec.controlPlaneEndpoint ?? {};
  return host && port ? `https://${host}:${port}` : undefined;
}

function specsOf(context: Context, tenant: Tenant, version: string, apiserverPort: number) {
  const { settings, versions } = context;
  return describePrograms({
    tenant,
    files: filesOf(settings.runDir, tenant),
    settings: settings.programs,
    apiserver: versions.pathOf(version),
    version,
    apiserverPort,
  });
}

/** The world as far as a LocalControlPlane depends on it; undefined while Cluster API has not labelled it. */
export async function observeControlPlane(
  context: Context,
  object: LocalControlPlane,
): Promise<ObservedControlPlane | undefined> {
  const tenant = findTenant(object);
  if (tenant === undefined) return undefined;
  const { stores, settings, processes, versions, ports, apis } = context;
  const now = new Date();
  const { version } = object.spec;
  const server = serverOf(context, tenant);
  const secrets = findSecrets(stores.secrets, tenant);
  const authorities = readAuthorities(secrets);
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  const port = isGoing ? 0 : await ports.ensureApiserverPort(tenant);
  const specs = Object.entries(specsOf(context, tenant, version, port));
  const states = PROGRAMS.map((program) => [program, processes.get(processNameOf(tenant, program))] as const);
  const programs: Partial<Record<Program, ProgramState>> = Object.fromEntries(
    states.filter(([, state]) => state !== undefined),
  );
  const apiserver = processNameOf(tenant, "kube-apiserver");
  const runs = programs["kube-apiserver"]?.running === true;
  const hash = authorities && hashOfAuthorities(authorities, port);
  // A Secret that somebody broke does not end what runs.
  const filesGood = hash === undefined ? runs : areFilesGood(filesOf(settings.runDir, tenant), hash, now);
  if (!runs) apis.noteNotReady(tenant);
  const readiness =
    runs && filesGood ? await apis.probe(tenant, port) : { ready: false, because: "it does not run" };
  if (readiness.ready || !runs) context.starting.delete(apiserver);
  return {
    object,
    ownerName: findOwnerName(object.metadata, "Cluster"),
    hasEndpoint: server !== undefined,
    secretsGood: server !== undefined && areSecretsGood(secrets, server, now),
    binary: versions.get(version),
    filesGood,
    programs,
    wanted: Object.fromEntries(specs.map(([program, spec]) => [program, hashOfSpec(spec)])) as Record<
      Program,
      string
    >,
    portTaken: !runs && !isGoing && !(await isPortFree(port)),
    mayStart: context.starting.size < MAX_STARTING,
    ready: readiness.ready,
    notReadyBecause: readiness.because,
    failure: context.failures.get(idOf(tenant)),
    lastReadyMs: apis.lastReadyMs(tenant),
    now,
  };
}

async function createSecrets(context: Context, object: LocalControlPlane, tenant: Tenant): Promise<void> {
  const { client, stores } = context;
  const secrets = findSecrets(stores.secrets, tenant);
  for (const secret of await makeMissingKeys(secrets, object, tenant)) {
    try {
      await client.create(secretKind, secret, { fieldManager: FIELD_MANAGER });
    } catch (error) {
      // The cache does not show our own write of a moment ago yet.
      if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    }
  }
  const server = serverOf(context, tenant);
  const authorities = readAuthorities(secrets);
  if (server === undefined || authorities === undefined) return;
  const kubeconfig = await makeKubeconfig(authorities.ca, server, object, tenant);
  await client.apply(secretKind, kubeconfig, { fieldManager: FIELD_MANAGER, force: true });
}

async function holdConnections({ apis, fronts }: Context, tenant: Tenant): Promise<void> {
  apis.noteNotReady(tenant);
  const front = await fronts.get(idOf(tenant));
  if (front !== undefined) await fronts.put(idOf(tenant), { ...front.spec, held: true });
}

async function destroy(context: Context, tenant: Tenant): Promise<void> {
  const { processes, settings, ports, apis, keys, starting } = context;
  starting.delete(processNameOf(tenant, "kube-apiserver"));
  await Promise.all(PROGRAMS.map((program) => processes.stop(processNameOf(tenant, program))));
  await apis.forget(tenant);
  const deleted = await keys.remove(tenant);
  removeTenantFiles(filesOf(settings.runDir, tenant));
  ports.forget(tenant);
  context.log.info({ tenant, keys: deleted }, "nothing is left of the tenant");
}

/** Does one thing on this machine; each is safe to be done again. Why it failed is kept, to be told in the status. */
export async function applyControlPlaneEffect(
  context: Context,
  object: LocalControlPlane,
  tenant: Tenant,
  effect: ControlPlaneEffect,
): Promise<void> {
  try {
    await act(context, object, tenant, effect);
    context.failures.delete(idOf(tenant));
  } catch (error) {
    context.failures.set(idOf(tenant), messageOf(error));
    throw error;
  }
}

async function act(
  context: Context,
  object: LocalControlPlane,
  tenant: Tenant,
  effect: ControlPlaneEffect,
): Promise<void> {
  const { processes, ports, settings, starting, versions } = context;
  const { version } = object.spec;
  switch (effect.do) {
    case "createSecrets":
      return createSecrets(context, object, tenant);
    case "link":
      return versions.link(version);
    case "writeFiles": {
      const authorities = readAuthorities(findSecrets(context.stores.secrets, tenant));
      if (authorities === undefined) {
        throw new Error(
          `the Secrets ${tenant.name}-ca and -proxy do not each hold a certificate and its key`,
        );
      }
      const port = await ports.ensureApiserverPort(tenant);
      return writeTenantFiles(filesOf(settings.runDir, tenant), authorities, port, new Date());
    }
    case "movePort":
      await ports.moveApiserverPort(tenant);
      return context.wakeCluster(tenant);
    case "start": {
      const name = processNameOf(tenant, effect.program);
      const isApiserver = effect.program === "kube-apiserver";
      // Looked at once more: another worker may have taken the turn since it was observed.
      if (isApiserver && starting.size >= MAX_STARTING) return;
      if (isApiserver) starting.add(name);
      const specs = specsOf(context, tenant, version, await ports.ensureApiserverPort(tenant));
      return processes.start(name, specs[effect.program]);
    }
    case "stop":
      context.log.info({ tenant, program: effect.program }, "ends, to be started anew");
      if (effect.program === "kube-apiserver") await holdConnections(context, tenant);
      // It ends its watches first, so that none of its clients waits for a dead connection.
      return processes.stop(processNameOf(tenant, effect.program), "SIGTERM");
    case "destroy":
      return destroy(context, tenant);
  }
}

/** Removes what is left of tenants that are gone: of a cluster that was deleted while no provider ran. */
export async function sweepOrphans(context: Context, leftovers: readonly Tenant[]): Promise<void> {
  for (const tenant of leftovers) await destroy(context, tenant);
}
