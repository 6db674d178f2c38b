import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  listRepositories: [["owner", "admin", "member", "viewer"], "registry:*"],
  getRepository: [["owner", "admin", "member", "viewer"], "registry:*"],
  deleteRepository: [["owner", "admin", "member"], "registry:write"],
  listTags: [["owner", "admin", "member", "viewer"], "registry:*"],
  deleteTag: [["owner", "admin", "member"], "registry:write"],
  getTagScan: [["owner", "admin", "member", "viewer"], "registry:*"],
  getRegistryUsage: [["owner", "admin", "member", "viewer"], "registry:*"],
  createRegistryCredential: [["owner", "admin", "member"], "registry:write"],
  listRegistryCredentials: [["owner", "admin", "member", "viewer"], "registry:*"],
  deleteRegistryCredential: [["owner", "admin", "member"], "registry:write"],
  requestTagScan: [["owner", "admin", "member"], "registry:write"],
};
