import { KubeError } from "../../../../shared/kube/errors.ts";
import { tenantNodeKind } from "../capi-kinds.ts";
import type { Context } from "../context.ts";
import { FIELD_MANAGER } from "../decision.ts";
import type { LocalMachine } from "../kinds.ts";
import type { Tenant } from "../tenant.ts";
import type { MachineEffect } from "./reconcile.ts";

/** Performs one step on this machine; every step is idempotent. */
export async function applyMachineEffect(
  context: Context,
  _object: LocalMachine,
  tenant: Tenant,
  effect: MachineEffect,
): Promise<void> {
  const api = context.apis.client(tenant, await context.ports.ensureApiserverPort(tenant));
  try {
    await api.create(tenantNodeKind, effect.node, { fieldManager: FIELD_MANAGER });
  } catch (error) {
    if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
  }
}
