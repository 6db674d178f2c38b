export { claimOrganization } from "./changes.ts";
