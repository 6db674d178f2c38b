export {
  type AuditEntry,
  type OutsideAudit,
  recordAudit,
  recordOutsideAudits,
  recordSystemAudits,
} from "./record.ts";
export { recordStaffRequest } from "./staff-requests.ts";
export { findTargetsOf, isAudited } from "./store.ts";
