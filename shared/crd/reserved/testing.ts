import { randomUUID } from "node:crypto";
import { Agent } from "undici";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { type KubeConnection, loadConnection } from "../../kube/connection.ts";
import type { Kind, KubeObject } from "../../kube/kind.ts";
import { clusterKind } from "../cluster.ts";
import { clusterAccessKind } from "../cluster-access.ts";
import { GROUP, NAMESPACE_PARTS, VERSION } from "../names.ts";
import { nodePoolKind } from "../node-pool.ts";
import { storageInventoryKind } from "../storage-inventory.ts";
import { PROGRAM_USERS } from "./policy.ts";

const [API_SERVER = "", OPERATOR = ""] = PROGRAM_USERS;
const PLATFORM_GROUPS = ["system:serviceaccounts", "system:serviceaccounts:marina-system"];

/** Who tries: users of the roles of the chart, and others. */
export const WRITERS = {
  gitops: { user: "attack:gitops", groups: [] },
  engineer: { user: "attack:engineer", groups: [] },
  viewer: { user: "attack:viewer", groups: [] },
  restore: { user: "attack:restore", groups: [] },
  breakGlass: { user: "attack:break-glass", groups: [] },
  /** A tenant's pipeline whose ServiceAccount has the name of Marina's, in the tenant's own Namespace. */
  namesake: { user: "system:serviceaccount:org-x:marina-apiserver", groups: ["system:serviceaccounts"] },
  /** Another ServiceAccount in the platform's namespace. */
  neighbour: { user: "system:serviceaccount:marina-system:default", groups: PLATFORM_GROUPS },
  /** Who may write Namespaces, and nothing of Marina's. */
  landlord: { user: "attack:landlord", groups: [] },
  /** Who may besides have credentials of clusters handed out, in all Namespaces. */
  registrar: { user: "attack:registrar", groups: [] },
  namespaceController: { user: "system:serviceaccount:kube-system:namespace-controller", groups: [] },
  apiserver: { user: API_SERVER, groups: PLATFORM_GROUPS },
  operator: { user: OPERATOR, groups: PLATFORM_GROUPS },
  admin: { user: "admin", groups: ["system:masters"] },
} as const;
export type Writer = keyof typeof WRITERS;

export const KINDS: Record<string, Kind<KubeObject>> = {
  clusters: clusterKind,
  nodepools: nodePoolKind,
  clusteraccesses: clusterAccessKind,
  storageinventories: storageInventoryKind,
};

export interface RawRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  contentType?: string;
  query?: Record<string, string>;
  userAgent?: string | undefined;
}

export interface RawAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API server answered
  body: any;
}

export type Send = (writer: Writer, request: RawRequest) => Promise<RawAnswer>;

/** Sends requests by impersonation, unchanged: no retry, no field manager, any verb. */
function openImpersonation(): { send: Send; close: () => Promise<void> } {
  const connection: KubeConnection = loadConnection(process.env.MARINA_TEST_KUBECONFIG);
  const { ca, cert, key, insecureSkipTlsVerify } = connection;
  const agent = new Agent({ connect: { ca, cert, key, rejectUnauthorized: insecureSkipTlsVerify !== true } });
  return {
    async send(writer, { method, path, body, contentType = "application/json", query = {}, userAgent }) {
      const { user, groups } = WRITERS[writer];
      const response = await agent.request({
        origin: connection.server,
        method,
        path: `${path}?${new URLSearchParams(query).toString()}`,
        headers: {
          ...(await connection.readHeaders?.()),
          "impersonate-user": user,
          ...(groups.length === 0 ? {} : { "impersonate-group": [...groups] }),
          "user-agent": userAgent ?? "attack/1",
          "content-type": contentType,
        },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return { status: response.statusCode, body: await response.body.json() };
    },
    close: () => agent.close(),
  };
}

/** The path of an object, of a part of it, or of all objects of a kind in a namespace. */
export function pathOf(resource: string, namespace: string, name?: string, part?: string): string {
  const parts = [resource, name, part].filter((one) => one !== undefined).join("/");
  return `/apis/${GROUP}/${VERSION}/namespaces/${namespace}/${parts}`;
}

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const ROLES: Partial<Record<Writer, string>> = {
  gitops: "marina-gitops",
  namesake: "marina-gitops",
  neighbour: "marina-gitops",
  viewer: "marina-viewer",
  engineer: "marina-engineer",
  restore: "marina-restore",
  breakGlass: "marina-break-glass",
  landlord: "attack-landlord",
  registrar: "attack-registrar",
};
const EVERYWHERE: readonly string[] = ["engineer", "restore", "landlord", "registrar"];
const WRITES_NAMESPACES = {
  apiGroups: [""],
  resources: NAMESPACE_PARTS,
  verbs: ["create", "update", "patch"],
};
const HANDS_OUT = { apiGroups: [GROUP], resources: ["clusters/registration"], verbs: ["update"] };
const OWN_ROLES = [
  { metadata: { name: "attack-landlord" }, rules: [WRITES_NAMESPACES] },
  { metadata: { name: "attack-registrar" }, rules: [WRITES_NAMESPACES, HANDS_OUT] },
];

/** A Namespace of no organization, which the operator leaves alone, with the writers bound to the roles of the chart. */
export async function openWorld(): Promise<{ send: Send; namespace: string; close(): Promise<void> }> {
  const impersonation = openImpersonation();
  const { send } = impersonation;
  const namespace = `attacked-${randomUUID().slice(0, 8)}`;
  const apiGroup = "rbac.authorization.k8s.io";
  await ensure(send, "/api/v1/namespaces", { metadata: { name: namespace } });
  for (const role of OWN_ROLES) await ensure(send, `${RBAC}/clusterroles`, role);
  for (const [writer, role] of Object.entries(ROLES)) {
    const binding = {
      metadata: { name: `attack-${writer.toLowerCase()}` },
      roleRef: { apiGroup, kind: "ClusterRole", name: role },
      subjects: [{ apiGroup, kind: "User", name: WRITERS[writer as Writer].user }],
    };
    const isEverywhere = EVERYWHERE.includes(writer);
    const place = isEverywhere ? "clusterrolebindings" : `namespaces/${namespace}/rolebindings`;
    await ensure(send, `${RBAC}/${place}`, binding);
  }
  for (const writer of Object.keys(ROLES) as Writer[]) {
    await waitFor(`the rights of ${writer}`, () => isBound(send, writer, namespace));
  }
  return {
    send,
    namespace,
    async close() {
      await send("admin", { method: "DELETE", path: `/api/v1/namespaces/${namespace}` });
      await impersonation.close();
    },
  };
}

/** Whether the API server grants what a binding gives: it reads a new one a moment after it was written. */
async function isBound(send: Send, writer: Writer, namespace: string): Promise<boolean> {
  const { user, groups } = WRITERS[writer];
  const resourceAttributes =
    writer === "landlord" || writer === "registrar"
      ? { verb: "patch", resource: "namespaces" }
      : { verb: "get", group: GROUP, resource: "clusters", namespace };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const body = { spec: { user, groups, resourceAttributes } };
  const { body: review } = await send("admin", { method: "POST", path, body });
  return review.status.allowed;
}

async function ensure(send: Send, path: string, body: object): Promise<void> {
  const { status, body: answer } = await send("admin", { method: "POST", path, body });
  if (status !== 201 && status !== 409) throw new Error(`POST ${path}: ${JSON.stringify(answer)}`);
}
