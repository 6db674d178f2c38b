import { type Secret, secretKind } from "../../../../shared/kube/core-kinds.ts";
import { apiVersionOf } from "../../../../shared/kube/kind.ts";
import { type Decision, decide, isDeleting, nextStatus, readyCondition } from "../decision.ts";
import { LABEL_CLUSTER_NAME, type LocalBootstrap, localBootstrapKind } from "../kinds.ts";

export interface ObservedBootstrap {
  object: LocalBootstrap;
  /** The Machine that Cluster API set as its owner. */
  ownerName: string | undefined;
  now: Date;
}

type Status = NonNullable<LocalBootstrap["status"]>;

/** The Secret that a Machine waits for before it may start; a worker of this provider needs nothing from it. */
export function reconcileBootstrap({ object, ownerName, now }: ObservedBootstrap): Decision<Status, never> {
  if (isDeleting(object) || ownerName === undefined) return decide();
  const fields = { initialization: { dataSecretCreated: true }, dataSecretName: object.metadata.name };
  const status = nextStatus<Status>(object, fields, [readyCondition("Created")], now);
  if (status === undefined) return decide();
  return decide({ write: [{ verb: "apply", kind: secretKind, object: describeSecret(object) }], status });
}

function describeSecret({ metadata }: LocalBootstrap): Secret {
  const cluster = metadata.labels?.[LABEL_CLUSTER_NAME] ?? "";
  return {
    apiVersion: apiVersionOf(secretKind),
    kind: secretKind.kind,
    metadata: {
      name: metadata.name,
      ...(metadata.namespace && { namespace: metadata.namespace }),
      labels: { [LABEL_CLUSTER_NAME]: cluster },
      ownerReferences: [
        {
          apiVersion: apiVersionOf(localBootstrapKind),
          kind: localBootstrapKind.kind,
          name: metadata.name,
          uid: metadata.uid ?? "",
          controller: true,
        },
      ],
    },
    type: "cluster.x-k8s.io/secret",
    data: { value: Buffer.from("local\n").toString("base64") },
  };
}
