import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getMe: "signed-in",
  acceptInvitation: "people",
  declineInvitation: "people",
  listOrganizations: "signed-in",
  inviteMember: ["oa"],
  listMembers: ["oambv", "members:read"],
  getMember: ["oambv", "members:read"],
  updateMember: ["oa"],
  removeMember: ["oambv"],
  resendInvitation: ["oa"],
  listGroupMappings: "staff",
  createGroupMapping: "staff",
  getGroupMapping: "staff",
  updateGroupMapping: "staff",
  deleteGroupMapping: "staff",
};
