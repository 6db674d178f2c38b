export { auditLog } from "../audit/table.ts";
export { idempotencyKeys } from "../http/idempotency-table.ts";
export { members, users } from "../members/table.ts";
export { organizations } from "../organizations/table.ts";
