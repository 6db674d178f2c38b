import { secretKind } from "../../../../shared/kube/core-kinds.ts";
import { KubeError } from "../../../../shared/kube/errors.ts";
import { messageOf } from "../../../../shared/program/errors.ts";
import type { Context } from "../context.ts";
import { FIELD_MANAGER } from "../decision.ts";
import type { LocalControlPlane } from "../kinds.ts";
import {
  filesOf,
  idOf,
  PROGRAMS,
  processNameOf,
  removeTenantFiles,
  SERVICE_CIDRS,
  type Tenant,
  writeTenantFiles,
} from "../tenant.ts";
import {
  findSecrets,
  makeKubeconfig,
  makeMissingKeys,
  makePublicAuthority,
  readAuthorities,
} from "../tenant-secrets.ts";
import type { ControlPlaneEffect } from "./reconcile.ts";
import { MAX_STARTING, serverOf, specsOf } from "./specs.ts";

async function createSecrets(context: Context, object: LocalControlPlane, tenant: Tenant): Promise<void> {
  const { client, stores } = context;
  const secrets = findSecrets(stores.secrets, tenant, object.spec.shape);
  for (const secret of await makeMissingKeys(secrets, object, tenant)) {
    try {
      await client.create(secretKind, secret, { fieldManager: FIELD_MANAGER });
    } catch (error) {
      // The cache does not show our own recent write yet.
      if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    }
  }
  const server = serverOf(context, tenant);
  const authorities = readAuthorities(secrets);
  if (server === undefined || authorities === undefined) return;
  const kubeconfig = await makeKubeconfig(authorities.ca, server, object, tenant);
  const applied = [...makePublicAuthority(authorities.ca, object, tenant), kubeconfig];
  for (const secret of applied) {
    await client.apply(secretKind, secret, { fieldManager: FIELD_MANAGER, force: true });
  }
}

async function holdConnections({ apis, fronts }: Context, tenant: Tenant): Promise<void> {
  apis.noteNotReady(tenant);
  const front = await fronts.get(idOf(tenant));
  if (front !== undefined) await fronts.put(idOf(tenant), { ...front.spec, held: true });
}

/** Ends the programs of a tenant and removes its keys in etcd, its files, logs and ports. */
export async function destroyTenant(context: Context, tenant: Tenant): Promise<void> {
  const { processes, config, ports, apis, keys, starting } = context;
  starting.delete(processNameOf(tenant, "kube-apiserver"));
  await Promise.all(PROGRAMS.map((program) => processes.stop(processNameOf(tenant, program))));
  await apis.forget(tenant);
  const deleted = await keys.remove(tenant);
  removeTenantFiles(filesOf(config.runDir, tenant));
  ports.forget(tenant);
  context.log.info({ tenant, keys: deleted }, "removed the tenant");
}

/** Performs one step on this machine; every step is idempotent. A failure is kept for the status. */
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
  const { processes, ports, config, starting, versions } = context;
  const { version } = object.spec;
  switch (effect.do) {
    case "createSecrets":
      return createSecrets(context, object, tenant);
    case "link":
      return versions.link(version);
    case "writeFiles": {
      const authorities = readAuthorities(findSecrets(context.stores.secrets, tenant, object.spec.shape));
      if (authorities === undefined) {
        throw new Error(
          `the Secrets ${tenant.name}-ca and -proxy do not each hold a certificate and its key`,
        );
      }
      const apiserverPort = await ports.ensureApiserverPort(tenant);
      const { serviceCIDRs = SERVICE_CIDRS } = object.spec;
      const address = { apiserverPort, serviceCIDRs };
      return writeTenantFiles(filesOf(config.runDir, tenant), authorities, address, new Date());
    }
    case "movePort":
      await ports.moveApiserverPort(tenant);
      return context.wakeCluster(tenant);
    case "start": {
      const name = processNameOf(tenant, effect.program);
      const isApiserver = effect.program === "kube-apiserver";
      // Checked again: another worker may have taken the slot since the observation.
      if (isApiserver && starting.size >= MAX_STARTING) return;
      if (isApiserver) starting.add(name);
      const specs = specsOf(context, tenant, object.spec, await ports.ensureApiserverPort(tenant));
      return processes.start(name, specs[effect.program]);
    }
    case "stop":
      context.log.info({ tenant, program: effect.program }, "stopping, to be restarted");
      if (effect.program === "kube-apiserver") await holdConnections(context, tenant);
      // SIGTERM closes its watches first, so that no client waits on a dead connection.
      return processes.stop(processNameOf(tenant, effect.program), "SIGTERM");
    case "destroy":
      return destroyTenant(context, tenant);
  }
}
