import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { attachment } from "../../http/contract/download.ts";
import { readPreconditions } from "../../http/contract/etag.ts";
import type { Router } from "../../http/contract/router.ts";
import type { Attempt } from "../../http/idempotency/run-once.ts";
import { RETRY_AFTER, requireCluster } from "../../resources/write/index.ts";
import type { CatalogueReader } from "../catalogue.ts";
import { clusterTag, locationOf, presentCluster } from "../present.ts";
import { clusterRecord } from "../schema.ts";
import { changeCluster, readLiveCluster } from "../write.ts";
import { generationOf, mergeNextGeneration, readAdminKubeconfig } from "./admin-kubeconfig.ts";

const CLUSTER = "/api/v1/organizations/{orgID}/clusters/{clusterID}";

/** The admin credentials of a cluster. */
export function addCredentialsRoutes(router: Router<Deps>, catalogue: CatalogueReader): void {
  addKubeconfig(router);
  addRotate(router, catalogue);
}

function addKubeconfig(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: `${CLUSTER}/kubeconfig`,
      operationId: "getKubeconfig",
      tag: "Clusters",
      summary: "Download the admin kubeconfig",
      access: "clusters:access",
      responses: {
        200: {
          description: "The admin kubeconfig, as a file.",
          mediaType: "application/yaml",
          // The limit of a Kubernetes Secret.
          maxLength: 1_048_576,
          headers: ["Content-Disposition"],
        },
      },
      errors: ["cluster_not_ready", "conflict"],
    },
    async (c, { deps, orgId, caller, params }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      return c.body(await readAdminKubeconfig(deps, caller, cluster), 200, {
        "Content-Type": "application/yaml",
        "Content-Disposition": attachment(cluster.displayName, "kubeconfig.yaml"),
        "Cache-Control": "no-store",
      });
    },
  );
}

function addRotate(router: Router<Deps>, catalogue: CatalogueReader): void {
  addRoute(
    router,
    {
      method: "post",
      path: `${CLUSTER}/credentials/rotate`,
      operationId: "rotateCredentials",
      tag: "Clusters",
      summary: "Rotate the admin credentials of a cluster",
      description:
        "Every admin kubeconfig that was downloaded before stops working within seconds; the next download is a new one.",
      access: "clusters:rotate_credentials",
      responses: {
        202: {
          description: "Accepted: the record.",
          body: clusterRecord,
          headers: ["Location", "Retry-After", "ETag"],
        },
      },
      errors: ["conflict", "managed_elsewhere", "precondition_failed"],
    },
    async (c, { deps, orgId, caller, params, runOnce }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const accept = async (rotated: typeof cluster) => {
        const versions = await catalogue.readCached();
        return c.json(presentCluster(rotated, versions), 202, {
          Location: locationOf(rotated),
          ETag: clusterTag(rotated, versions),
          ...RETRY_AFTER,
        });
      };
      const readGeneration = async () => `${generationOf(await readLiveCluster(deps.kube, cluster))}`;
      const resume = async ({ storedValue }: Attempt) => {
        // Any rotation since the first attempt came has ended what was downloaded before.
        const live = await readLiveCluster(deps.kube, cluster);
        return generationOf(live) > Number(storedValue) ? accept(live) : undefined;
      };
      return runOnce({ resume, storedValue: readGeneration }, async () => {
        const { projected: rotated } = await changeCluster(deps, caller, cluster, {
          action: "cluster.rotate_credentials",
          preconditions: readPreconditions(c),
          merge: mergeNextGeneration,
        });
        return accept(rotated);
      });
    },
  );
}
