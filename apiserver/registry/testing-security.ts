import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  listRepositories: ["oamv", "registry:*"],
  getRepository: ["oamv", "registry:*"],
  deleteRepository: ["oam", "registry:write"],
  listTags: ["oamv", "registry:*"],
  deleteTag: ["oam", "registry:write"],
  getTagScan: ["oamv", "registry:*"],
  getRegistryUsage: ["oamv", "registry:*"],
  createRegistryCredential: ["oam", "registry:write"],
  listRegistryCredentials: ["oamv", "registry:*"],
  deleteRegistryCredential: ["oam", "registry:write"],
  requestTagScan: ["oam", "registry:write"],
};
