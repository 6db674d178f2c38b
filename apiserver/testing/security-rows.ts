/**
 * Who may call what, written down a second time, by operation: what the security tests hold the API against. Every
 * operation needs a row; one without fails the build.
 *
 * - `public`: no credential. `signed-in`: any credential. `people`: a person, no API token. `staff`: the platform's.
 * - else the roles (o owner, a admin, m member, b billing, v viewer), and the scopes of which a token needs one;
 *   `clusters:*` are all scopes of the resource; without scopes no token gets in.
 */
export type SecurityRow =
  | "public"
  | "signed-in"
  | "people"
  | "staff"
  | readonly [roles: string, ...scopes: string[]];

export const SECURITY_ROWS: Readonly<Record<string, SecurityRow>> = {
  getHealth: "public",
  getReadiness: "public",
  getMetrics: "public",

  getMe: "signed-in",
  listOrganizations: "signed-in",
  createOrganization: "people",
  getOrganization: ["oambv", "organization:*"],
  updateOrganization: ["oab", "organization:write"],
  deleteOrganization: ["o"],

  inviteMember: ["oa"],
  listMembers: ["oambv", "members:read"],
  getMember: ["oambv", "members:read"],
  updateMember: ["oa"],
  removeMember: ["oambv"],
  resendInvitation: ["oa"],

  createApiToken: ["oam"],
  listApiTokens: ["oam"],
  getApiToken: ["oam"],
  deleteApiToken: ["oam"],
  rotateApiToken: ["oam"],

  listAuditLog: ["oa", "audit:read"],
  listAdminAuditLog: "staff",

  listAdminOrganizations: "staff",
  getAdminOrganization: "staff",
  getOrganizationQuotas: "staff",
  setOrganizationQuotas: "staff",
  listAdminClusters: "staff",

  createCluster: ["oam", "clusters:write"],
  listClusters: ["oambv", "clusters:*"],
  getCluster: ["oambv", "clusters:*"],
  updateCluster: ["oam", "clusters:write", "clusters:upgrade"],
  deleteCluster: ["oa", "clusters:delete"],
  getKubeconfig: ["oam", "clusters:access"],
  issueKubeconfig: ["oam", "clusters:access"],
  listClusterAccesses: ["oam", "clusters:access"],
  getClusterAccess: ["oam", "clusters:access"],
  revokeClusterAccess: ["oam", "clusters:access"],
  upgradeCluster: ["oam", "clusters:upgrade"],
  listUpgrades: ["oambv", "clusters:*"],
  rotateCredentials: ["oa", "clusters:access"],
  listKubernetesVersions: "signed-in",
  listPlans: "signed-in",
  getNetworkPolicy: ["oambv", "network:*"],
  setNetworkPolicy: ["oam", "network:write"],

  createNodePool: ["oam", "nodepools:write"],
  listNodePools: ["oambv", "nodepools:*"],
  getNodePool: ["oambv", "nodepools:*"],
  updateNodePool: ["oam", "nodepools:write"],
  deleteNodePool: ["oam", "nodepools:write"],
  listNodes: ["oambv", "nodepools:*"],
  replaceNode: ["oam", "nodepools:write"],
  streamSystemEvents: ["oamv", "events:read"],
  createStreamTicket: ["oamv", "events:read"],
};
