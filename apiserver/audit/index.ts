export type { ExternalDeletion } from "./deleters/find-deleters.ts";
export { readDeletionStore } from "./deleters/store.ts";
export {
  doAsSystem,
  type ExternalAudit,
  type KubernetesAuditConfig,
  recordAudit,
  recordExternalAudits,
  recordExternalDeletions,
  recordSystemAudits,
  UNKNOWN_MANAGER,
} from "./record.ts";
export { recordStaffRequest } from "./staff-requests.ts";
export { findTargetsOf, isAudited } from "./store.ts";
export type { AuditEntry } from "./table.ts";
