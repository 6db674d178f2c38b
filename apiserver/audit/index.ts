export {
  type AuditEntry,
  type OutsideAudit,
  recordAudit,
  recordOutsideAudits,
  recordStaffRequest,
} from "./record.ts";
