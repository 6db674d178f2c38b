import { ROLES } from "../http/authorization/permissions.ts";
import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getMe: "signed-in",
  acceptInvitation: "people",
  declineInvitation: "people",
  listOrganizations: "signed-in",
  inviteMember: [["owner", "admin"]],
  listMembers: [ROLES, "members:read"],
  getMember: [ROLES, "members:read"],
  updateMember: [["owner", "admin"]],
  removeMember: [ROLES],
  resendInvitation: [["owner", "admin"]],
  listGroupMappings: "staff",
  createGroupMapping: "staff",
  getGroupMapping: "staff",
  updateGroupMapping: "staff",
  deleteGroupMapping: "staff",
};
