export type { OutsideDeletion } from "./deleters/find-deleters.ts";
export {
  isDeleterAwaited,
  type OutsideAudit,
  recordAudit,
  recordOutsideAudits,
  recordOutsideDeletions,
  recordSystemAudits,
  UNKNOWN_MANAGER,
} from "./record.ts";
export { recordStaffRequest } from "./staff-requests.ts";
export { findTargetsOf, isAudited } from "./store.ts";
export type { AuditEntry } from "./table.ts";
