import { isDeepStrictEqual } from "node:util";
import type { NewCondition } from "../../../../shared/controller/conditions.ts";
import { apiVersionOf } from "../../../../shared/kube/kind.ts";
import {
  type Decision,
  decide,
  FINALIZER,
  hasFinalizer,
  isDeleting,
  nextStatus,
  readyCondition,
} from "../decision.ts";
import type { FrontState } from "../front/fronts.ts";
import type { FrontSpec } from "../front/listener.ts";
import { type LocalCluster, localClusterKind } from "../kinds.ts";

export interface ObservedCluster {
  object: LocalCluster;
  /** The Cluster that Cluster API set as its owner. */
  ownerName: string | undefined;
  /** A free port, picked while none is chosen. */
  freePort: number | undefined;
  /** The state of the front; undefined when it has none. */
  front: FrontState | undefined;
  /** The port of the tenant's kube-apiserver. */
  targetPort: number;
  /** Whether the tenant's API has responded at least once. */
  apiResponded: boolean;
  /** Whether it is ready now; undefined before the first probe. */
  apiReady: boolean | undefined;
  /** Networks of the platform, always accepted. */
  platformCIDRs: readonly string[];
  now: Date;
}

export type ClusterEffect = { do: "open"; spec: FrontSpec } | { do: "close" };

const HOST = "127.0.0.1";
const RETRY_PORT_MS = 5000;
const SOON_MS = 50;
/** Resync while healthy: the front may have been restarted without getting its port back. */
const STEADY_MS = 10_000;

type Status = NonNullable<LocalCluster["status"]>;

/** The cluster's address: chosen once, served by the front, released at deletion. */
export function reconcileCluster(observed: ObservedCluster): Decision<Status, ClusterEffect> {
  const { object } = observed;
  if (isDeleting(object)) return decide({ releaseFinalizer: true }, [{ do: "close" }]);
  if (observed.ownerName === undefined) return decide();
  const metadata = hasFinalizer(object) ? undefined : { finalizer: FINALIZER };
  if (!object.spec.controlPlaneEndpoint?.port) {
    const port = observed.freePort;
    if (port === undefined) return decide({ metadata, requeueAfterMs: RETRY_PORT_MS });
    return decide({ metadata, write: [chooseEndpoint(object, port)] });
  }
  const spec = describeFront(observed, object.spec.controlPlaneEndpoint);
  const { front } = observed;
  const isCurrent = front !== undefined && isDeepStrictEqual(front.spec, spec);
  const effects: ClusterEffect[] = isCurrent && front.listening ? [] : [{ do: "open", spec }];
  // Cluster API connects as soon as this is set, and retries a failure after 30 s: so not before the API responds.
  const responds = isCurrent && front.listening && observed.apiResponded;
  const provisioned = (object.status?.initialization?.provisioned ?? false) || responds;
  const conditions = describeFrontCondition(isCurrent ? front : undefined);
  const status = nextStatus<Status>(object, { initialization: { provisioned } }, [conditions], observed.now);
  const requeueAfterMs = effects.length === 0 ? STEADY_MS : isCurrent ? RETRY_PORT_MS : SOON_MS;
  return decide({ metadata, status, requeueAfterMs }, effects);
}

function chooseEndpoint({ metadata }: LocalCluster, port: number) {
  const { name, namespace } = metadata;
  const object = {
    apiVersion: apiVersionOf(localClusterKind),
    kind: localClusterKind.kind,
    metadata: { name, ...(namespace && { namespace }) },
    spec: { controlPlaneEndpoint: { host: HOST, port } },
  };
  return { verb: "apply" as const, kind: localClusterKind, object };
}

/** A private endpoint accepts the platform and the workers; a public one without a list accepts any source. */
function describeFront(observed: ObservedCluster, endpoint: { host: string; port: number }): FrontSpec {
  const { publicEndpoint, authorizedCIDRs, apiServerRateLimit, workerSubnet } = observed.object.spec;
  return {
    ...endpoint,
    targetPort: observed.targetPort,
    held: !(observed.apiReady ?? observed.front?.spec.held === false),
    rules: {
      trusted: [...observed.platformCIDRs, ...(workerSubnet === undefined ? [] : [workerSubnet])],
      ...(publicEndpoint === false ? { allowed: [] } : authorizedCIDRs && { allowed: authorizedCIDRs }),
      ...(apiServerRateLimit && { limit: apiServerRateLimit }),
    },
  };
}

function describeFrontCondition(front: FrontState | undefined): NewCondition<"Ready"> {
  if (front === undefined) return readyCondition("Opening", "The endpoint is being opened.", false);
  if (front.listening) return readyCondition("Listening");
  const message = `The endpoint cannot be opened: ${front.error}; retried every 5 s.`;
  return readyCondition("PortTaken", message, false);
}
