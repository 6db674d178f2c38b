import { isPortFree } from "../../programs/free-port.ts";
import { findOwnerName } from "../capi-kinds.ts";
import { type Context, findTenant } from "../context.ts";
import type { LocalControlPlane } from "../kinds.ts";
import { hashOfSpec, type ProgramState } from "../processes.ts";
import {
  areFilesGood,
  filesOf,
  hashOfAuthorities,
  idOf,
  PROGRAMS,
  type Program,
  processNameOf,
} from "../tenant.ts";
import { areSecretsGood, findSecrets, readAuthorities } from "../tenant-secrets.ts";
import type { ObservedControlPlane } from "./reconcile.ts";
import { MAX_STARTING, serverOf, specsOf } from "./specs.ts";

/** Everything that a LocalControlPlane depends on; undefined while Cluster API has not labelled it. */
export async function observeControlPlane(
  context: Context,
  object: LocalControlPlane,
): Promise<ObservedControlPlane | undefined> {
  const tenant = findTenant(object);
  if (tenant === undefined) return undefined;
  const { stores, config, processes, versions, ports, apis } = context;
  const now = new Date();
  const { version } = object.spec;
  const server = serverOf(context, tenant);
  const secrets = findSecrets(stores.secrets, tenant, object.spec.shape);
  const authorities = readAuthorities(secrets);
  const isDeleted = object.metadata.deletionTimestamp !== undefined;
  const port = isDeleted ? 0 : await ports.ensureApiserverPort(tenant);
  const specs = Object.entries(specsOf(context, tenant, object.spec, port));
  const states = PROGRAMS.map((program) => [program, processes.get(processNameOf(tenant, program))] as const);
  const programs: Partial<Record<Program, ProgramState>> = Object.fromEntries(
    states.filter(([, state]) => state !== undefined),
  );
  const apiserver = processNameOf(tenant, "kube-apiserver");
  const runs = programs["kube-apiserver"]?.running === true;
  const hash = authorities && hashOfAuthorities(authorities, port);
  // A damaged Secret does not stop programs that run.
  const filesGood = hash === undefined ? runs : areFilesGood(filesOf(config.runDir, tenant), hash, now);
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
    portTaken: !runs && !isDeleted && !(await isPortFree(port)),
    mayStart: context.starting.size < MAX_STARTING,
    ready: readiness.ready,
    notReadyBecause: readiness.because,
    failure: context.failures.get(idOf(tenant)),
    lastReadyMs: apis.lastReadyMs(tenant),
    now,
  };
}
