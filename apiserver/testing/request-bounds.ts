import type { QUOTA_WIRE_NAMES, StoreName } from "../quotas/schema.ts";

/** What `GET .../quotas` shows of an organization, by its name there. */
type QuotaOfOrganization = StoreName | (typeof QUOTA_WIRE_NAMES)[keyof typeof QUOTA_WIRE_NAMES];

/** What the requests of one caller leave in a store. */
export interface RecordBounds {
  /** The rows or objects of one request. */
  adds: string;
  /** How many there can be, and what ends them. */
  bound: string;
  /** The default of each bound of an organization in it. */
  ofOrganization?: Partial<Record<QuotaOfOrganization, number>>;
}

const READS = { adds: "none", bound: "reads" };
const REPLACES = { adds: "none", bound: "replaces its record" };
const REMOVES = { adds: "none", bound: "removes its record" };
const REMOVES_IMAGES = { adds: "1 more audit entry", bound: "removes what it names" };
const CHANGES_TICKET = {
  adds: "1 event, 1 delivery to each webhook",
  bound: "1 of each change of the status, 30 days each",
};
const REVOKES = "1 revocation, 1 of each cluster whose kubeconfig was read";
const ENDS_MEMBERSHIPS = "revocations, 1 offboarding of each membership that ends";

/** By operationId, for all operations but GET, and for each GET with a rate of its own: one without a row fails the tests. */
export const RECORD_BOUNDS: Readonly<Record<string, RecordBounds>> = {
  updateOrganization: REPLACES,
  deleteOrganization: {
    adds: "1 audit entry and 1 event of each open ticket",
    bound: "removes its record, its tokens, webhooks and group mappings",
  },
  setOrganizationQuotas: REPLACES,
  setOrganizationStorageQuota: REPLACES,
  setUserQuotas: REPLACES,
  setUserIdentity: { adds: ENDS_MEMBERSHIPS, bound: "replaces its record, staff alone" },
  createOrganization: { adds: "1 organization", bound: "5 of a user, 20 within 30 days" },
  acceptInvitation: { adds: "none", bound: "the invitation becomes a member" },
  declineInvitation: { adds: "none", bound: "the invitation is deleted" },
  inviteMember: { adds: "1 invitation", bound: "100 pending ones of a user, 14 days each" },
  updateMember: { adds: REVOKES, bound: "replaces its record; until carried out" },
  removeMember: { adds: ENDS_MEMBERSHIPS, bound: "removes its record; 30 days" },
  updateGroupMapping: { adds: ENDS_MEMBERSHIPS, bound: "replaces its record, staff alone" },
  deleteGroupMapping: { adds: ENDS_MEMBERSHIPS, bound: "removes its record, staff alone" },
  createGroupMapping: { adds: "1 group mapping", bound: "staff alone" },
  resendInvitation: { adds: "none", bound: "100 pending ones of a user, 14 days each" },
  createApiToken: {
    adds: "1 API token",
    bound: "100 of an organization; revoked ones for 30 days, by requests",
    ofOrganization: { api_tokens: 100 },
  },
  rotateApiToken: { adds: "1 revocation", bound: "the secret is replaced; until carried out" },
  deleteApiToken: { adds: REVOKES, bound: "removes its record; until carried out" },
  createCluster: {
    adds: "1 Cluster, and its NodePools",
    bound: "100 clusters and 500 pools of an organization",
    ofOrganization: { clusters: 100, node_pools: 500 },
  },
  updateCluster: REPLACES,
  deleteCluster: REMOVES,
  setClusterSuspension: REPLACES,
  setNetworkPolicy: REPLACES,
  getKubeconfig: { adds: "1 audit entry", bound: "30 requests a minute of a user" },
  revokeClusterAccess: REMOVES,
  listClusterAccesses: READS,
  getClusterAccess: READS,
  getForeignAccesses: READS,
  updateNodePool: REPLACES,
  deleteNodePool: REMOVES,
  upgradeCluster: { adds: "none", bound: "the Cluster changes" },
  rotateCredentials: { adds: "none", bound: "the Cluster changes" },
  issueKubeconfig: {
    adds: "1 access",
    bound: "2,000 of an organization that are not revoked or expired",
    ofOrganization: { accesses: 2000 },
  },
  createNodePool: {
    adds: "1 NodePool",
    bound: "500 of an organization",
    ofOrganization: { node_pools: 500 },
  },
  replaceNode: { adds: "none", bound: "an annotation, which the operator removes" },
  createStreamTicket: { adds: "1 stream ticket", bound: "by requests, 30 s each" },
  createWebhook: {
    adds: "1 webhook",
    bound: "20 of an organization, 200 with those deleted within 30 days",
    ofOrganization: { webhooks: 20 },
  },
  updateWebhook: REPLACES,
  deleteWebhook: { adds: "none", bound: "its record, for 30 days" },
  rotateWebhookSecret: { adds: "1 secret", bound: "6 of a webhook" },
  testWebhook: { adds: "1 delivery", bound: "30 requests a minute of a user, 30 days each" },
  redeliverWebhookEvent: { adds: "1 delivery", bound: "30 requests a minute of a user, 30 days each" },
  recoverWebhook: {
    adds: "10,000 deliveries",
    bound: "one pending or delivered of each event and webhook, 30 days each",
  },
  setBudget: REPLACES,
  deleteBudget: REMOVES,
  setBillingProfile: REPLACES,
  updateRateCard: { adds: "10 prices", bound: "staff alone" },
  updatePlan: { adds: "1 terms of a package", bound: "staff alone" },
  closeMonth: { adds: "the invoices of a month", bound: "1 of each organization and month" },
  createCreditNote: { adds: "1 credit note", bound: "the amount of its invoice" },
  createTicket: {
    adds: "1 ticket with a message, 1 event, 1 delivery to each webhook",
    bound: "500 open, 100 a day of an organization",
    ofOrganization: { open_tickets: 500, tickets_per_day: 100 },
  },
  updateTicket: CHANGES_TICKET,
  updateAdminTicket: CHANGES_TICKET,
  createTicketMessage: {
    adds: "1 message, 1 event, 1 delivery to each webhook",
    bound: "1,000 of a ticket, 1,000 a day of an organization",
    ofOrganization: { ticket_messages_per_day: 1000 },
  },
  createAdminTicketMessage: {
    adds: "1 message, 1 event, 1 delivery to each webhook",
    bound: "staff alone",
  },
  createTicketAttachment: {
    adds: "1 attachment of 25 MiB",
    bound: "100 and 500 MiB of a ticket, 200 a day and 10 GiB of an organization",
    ofOrganization: { attachments_per_day: 200, attachment_bytes: 10 * 1024 ** 3 },
  },
  completeTicketAttachment: { adds: "none", bound: "the attachment is moved" },
  createAdminTicketAttachment: { adds: "1 attachment of 25 MiB", bound: "staff alone" },
  completeAdminTicketAttachment: { adds: "none", bound: "the attachment is moved" },
  requestTagScan: {
    adds: "1 scan",
    bound: "1,000 pending and 268,435,456 bytes of an organization, 1 an image",
    ofOrganization: { pending_image_scans: 1000, image_scan_report_bytes: 256 * 1024 ** 2 },
  },
  deleteRepository: REMOVES_IMAGES,
  deleteTag: REMOVES_IMAGES,
  deleteRegistryCredential: REMOVES,
  createRegistryCredential: {
    adds: "1 credential",
    bound: "1,000 of an organization",
    ofOrganization: { registry_credentials: 1000 },
  },
};

/** What one request of a route that is no operation can make a process hold, and its rows. */
export interface RouteBounds extends RecordBounds {
  /** Who can send more than a header: the bytes of a body are not read before the credential is compared. */
  caller: string;
  bodyBytes: number;
  responseBytes: string;
}

const PUBLIC = {
  caller: "anybody",
  bodyBytes: 0,
  adds: "none",
  bound: "600 requests a minute of an address",
};

/** By method and path, for every route that is no operation. */
export const ROUTE_BOUNDS: Readonly<Record<string, RouteBounds>> = {
  "GET /": { ...PUBLIC, responseBytes: "none" },
  "GET /docs": {
    ...PUBLIC,
    responseBytes: "the page; the entries of a search",
    bound: `${PUBLIC.bound}, 30 new searches of them; 50 searches are kept`,
  },
  "GET /docs/": { ...PUBLIC, responseBytes: "none" },
  "GET /openapi.json": { ...PUBLIC, responseBytes: "the document" },
  "GET /registry/jwks.json": { ...PUBLIC, responseBytes: "one key" },
  "GET /registry/token": {
    caller: "an API token or credential of a cluster",
    bodyBytes: 0,
    responseBytes: "one token",
    adds: "1 grant to push",
    bound: "1 of each organization",
  },
  "POST /kubernetes/audit-events": {
    caller: "the Kubernetes API",
    bodyBytes: 4_194_304,
    responseBytes: "none",
    adds: "the deletions of a batch",
    bound: "600 requests a minute; 10,000 deletions of an organization, 24 hours each",
    ofOrganization: { kubernetes_deletions_per_day: 10_000 },
  },
  "POST /registry/notifications": {
    caller: "the registry",
    bodyBytes: 1_048_576,
    responseBytes: "none",
    adds: "the scans and the ids of a batch",
    bound: "1 scan of an image that is pushed, 1 id of each blob, 24 hours",
  },
};
