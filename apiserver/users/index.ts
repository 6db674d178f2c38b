export { bindFirstOrganization } from "./changes.ts";
