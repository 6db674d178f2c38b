import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createId } from "../../shared/program/id.ts";
import { makeAccessObject } from "../cluster-accesses/testing.ts";
import { insertMapping } from "../members/groups/mapping-store.ts";
import { organizationNamespace } from "../organizations/namespace.ts";
import { insertTestCredential, pushAnyImage } from "../registry/testing.ts";
import {
  findCluster,
  projectObservations,
  toProjectedCluster,
  toProjectedNodePool,
} from "../resources/project/index.ts";
import { describeFile, openDesk } from "../tickets/attachments/testing.ts";
import type { TestApp } from "./app.ts";
import { addPerson, type Person, type TestIssuer, type TestOrganization } from "./issuer.ts";
import { type DocumentedOperation, VALID_BODIES } from "./operation-cases.ts";

const BYTES = Buffer.from("a log");

/** A valid request, and what is different about it. */
export interface EndingRequest {
  operation: DocumentedOperation;
  caller: Person & { tokenId?: string };
  /** Default: the caller's token. */
  credential?: string;
  body?: object;
  /** The Idempotency-Key. */
  key?: string;
}

/** One record of every kind, by the name of its path parameter. */
export async function createRecords(
  api: TestApp,
  { id: orgId, path, owner: { token, userId } }: TestOrganization,
): Promise<Record<string, string>> {
  const send = async (method: string, place: string, body?: object) => {
    const response = await api.request(method, `${path}${place}`, { token, ...(body && { body }) });
    if (response.status >= 300) throw new Error(`${method} ${place}: ${JSON.stringify(response.body)}`);
    return response.body;
  };
  const pool = { name: "web", vcpus: 1, memory_gb: 2, disk_gb: 10, desired_nodes: 1 };
  const cluster = await send("POST", "/clusters", { name: "Ended", k8s_version: "1.34", node_pools: [pool] });
  const clusterPath = `/clusters/${cluster.id}`;
  const { items } = await send("GET", `${clusterPath}/nodepools`);
  const webhook = await send("POST", "/webhooks", { url: "https://hooks.example.com", events: ["*"] });
  const delivery = await send("POST", `/webhooks/${webhook.id}/test`);
  const ticket = await send("POST", "/tickets", VALID_BODIES.createTicket);
  await send("PUT", "/billing/budget", VALID_BODIES.setBudget);
  const projected = await findCluster(api.deps.db, orgId, cluster.id);
  if (projected === undefined) throw new Error("no cluster");
  return {
    clusterID: cluster.id,
    poolID: items[0].id,
    name: await waitForNode(api, orgId, cluster.id),
    accessID: await makeAccessObject(api.deps, projected, { userId }),
    webhookID: webhook.id,
    deliveryID: delivery.id,
    ticketID: ticket.id,
    credentialID: await insertTestCredential(api.deps, orgId, cluster.id),
    ...(await pushAnyImage(api, orgId)),
  };
}

/**
 * Until the cluster runs, which an upgrade and a kubeconfig need, and REST serves it so. Returns the name of its node.
 */
function waitForNode({ deps: { kube, db } }: TestApp, orgId: string, clusterId: string): Promise<string> {
  const namespace = organizationNamespace(orgId);
  const findNode = async () => {
    const [cluster] = await kube.listAll(clusterKind, { namespace });
    const [pool] = await kube.listAll(nodePoolKind, { namespace });
    const node = pool?.status?.machines?.find((machine) => machine.node !== undefined)?.node;
    if (cluster?.status?.phase !== "Ready" || cluster.status.version === undefined || pool === undefined)
      return undefined;
    const objects = [toProjectedCluster(cluster, orgId), toProjectedNodePool(pool, orgId, clusterId)];
    await db.transaction((tx) =>
      projectObservations(
        tx,
        objects.flatMap((object) => (object === undefined ? [] : { object })),
      ),
    );
    return node;
  };
  return waitFor("the cluster to run with its node", findNode);
}

interface Prepared {
  api: TestApp;
  issuer: TestIssuer;
  organization: TestOrganization;
  records: Record<string, string>;
}

interface PreparedRequest {
  method: string;
  path: string;
  token: string;
  body: object | undefined;
  headers: Record<string, string>;
}

/** A request that would have an effect, with the records that it alone can use. */
export async function prepareRequest(
  { api, issuer, organization, records }: Prepared,
  { operation, caller, credential = caller.token, body: otherBody, key }: EndingRequest,
): Promise<PreparedRequest> {
  const { method, path, operationId, body } = operation;
  const ids: Record<string, string> = {
    ...records,
    orgID: organization.id,
    tokenID: caller.tokenId ?? "",
    userID: caller.userId,
    slug: "scale",
  };
  const mapping = {
    issuer: issuer.config.issuer,
    group: caller.userId,
    orgId: organization.id,
    role: "viewer" as const,
  };
  if (path.includes("{mappingID}"))
    ids.mappingID = (await insertMapping(api.deps.db, { ...mapping, id: createId(), managedBy: "staff" })).id;
  if (path.includes("{memberID}")) {
    ids.memberID = await addPerson(api.deps, organization.id, await issuer.createPerson(), "viewer");
    if (operationId === "resendInvitation")
      await api.deps.sql`update members
        set user_id = null, accepted_at = null, expires_at = now() + interval '1 day' where id = ${ids.memberID}`;
  }
  if (operationId === "completeTicketAttachment") {
    const desk = openDesk(api, records.ticketID ?? "", { ...caller, token: credential }, organization);
    ids.attachmentID = await desk.upload(BYTES);
  }
  if (path.includes("{invitationID}")) {
    const invitation = { email: caller.email, role: "viewer" };
    const { token } = organization.owner;
    const { body } = await api.request("POST", `${organization.path}/members`, { token, body: invitation });
    ids.invitationID = body.id;
  }
  if (operationId === "completeAdminTicketAttachment")
    ids.attachmentID = await openDesk(api, records.ticketID ?? "", caller).upload(BYTES);
  const bodies: Record<string, object> = {
    ...VALID_BODIES,
    setUserIdentity: { issuer: mapping.issuer },
    updateAdminTicket: { severity: "high" },
    createAdminTicketMessage: { body: "Example" },
    createAdminTicketAttachment: describeFile(BYTES),
    createRegistryCredential: { cluster_id: records.clusterID },
    createTicketMessage: { body: "Example" },
    createTicketAttachment: describeFile(BYTES),
    createWebhook: { url: "https://hooks.example.com", events: ["*"] },
    updateWebhook: { events: ["cluster.ready"] },
    setBillingProfile: { city: "Berlin" },
    updateMember: { role: "admin" },
    updateTicket: { status: "closed" },
    createGroupMapping: {
      issuer: mapping.issuer,
      group: mapping.group,
      org_id: mapping.orgId,
      role: mapping.role,
    },
    updateGroupMapping: { role: "member" },
  };
  return {
    method,
    path: path.replaceAll(/\{(.+?)\}/g, (_match, name: string) => ids[name] ?? ""),
    token: credential,
    body: body === undefined ? undefined : (otherBody ?? bodies[operationId] ?? body.example),
    headers: key === undefined ? {} : { "idempotency-key": key },
  };
}
