import { KubeError } from "../../../../shared/kube/errors.ts";
import { findOwnerName, tenantNodeKind } from "../capi-kinds.ts";
import { type Context, findByTenant, findTenant } from "../context.ts";
import type { LocalMachine } from "../kinds.ts";
import type { Tenant } from "../tenant.ts";
import type { ObservedMachine } from "./reconcile.ts";

async function observeNode(context: Context, tenant: Tenant, name: string): Promise<ObservedMachine["node"]> {
  const controlPlane = findByTenant(context.stores.controlPlanes, tenant);
  const initialized = controlPlane?.status?.initialization?.controlPlaneInitialized === true;
  if (!initialized) return { reachable: false, registered: false };
  try {
    const api = context.apis.client(tenant, await context.ports.ensureApiserverPort(tenant));
    const node = await api.get(tenantNodeKind, undefined, name, { timeoutMs: 2000 });
    return { reachable: true, registered: node !== undefined };
  } catch (error) {
    if (error instanceof KubeError && error.isUnavailable) return { reachable: false, registered: false };
    throw error;
  }
}

/** Everything that a LocalMachine depends on; undefined while Cluster API has not labelled it. */
export async function observeMachine(
  context: Context,
  object: LocalMachine,
): Promise<ObservedMachine | undefined> {
  const tenant = findTenant(object);
  if (tenant === undefined) return undefined;
  const owner = findOwnerName(object.metadata, "Machine");
  const machine =
    owner === undefined ? undefined : context.stores.capiMachines.get(`${tenant.namespace}/${owner}`);
  const isNew = object.spec.providerID === undefined && object.metadata.deletionTimestamp === undefined;
  const node = isNew
    ? await observeNode(context, tenant, object.metadata.name)
    : { reachable: false, registered: true };
  return { object, machine, node, now: new Date() };
}
