import type { z } from "@hono/zod-openapi";
import type { Hono } from "hono";
import type { KubeClient } from "../../../shared/kube/client.ts";
import type { Database } from "../../db/client.ts";
import type { Author } from "../authentication/principal.ts";
import type { AccessControl } from "../authorization/guard.ts";
import type { HttpEnv } from "../env.ts";
import type { IdempotencyStore } from "../idempotency/store.ts";
import type { RequestLimits } from "../limits.ts";
import type { RequestLimiter } from "../rate-limits/rate-limit.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { Operation } from "./operation.ts";
import type { TenantLimits } from "./tenant-slot.ts";

/** A request that this service sends to the endpoint of a webhook: everything about it in the OpenAPI document. */
export interface SentEvent {
  /** The type of the event, as in `cluster.ready`. */
  type: string;
  description: string;
  body: z.ZodType;
  example: object;
}

/** What this layer needs of the dependencies of slices, and binds to each request. */
export interface RequestDeps {
  db: Database;
  kube: KubeClient;
}

/** Where slices add their operations: see `addRoute`. `D` is what their handlers work with. */
export interface Router<D extends RequestDeps = RequestDeps> {
  app: Hono<HttpEnv>;
  access: AccessControl;
  deps: D;
  idempotencyOf: (db: Database, ending: Database) => IdempotencyStore;
  limiter: RequestLimiter;
  limits: RequestLimits;
  /** The budget for the bodies of all requests of this process. */
  bodies: ByteBudget;
  /** The budget for responses that clients have not read yet. */
  unread: ByteBudget;
  tenantLimits: TenantLimits;
  /** Every operation in the order in which it was added; the OpenAPI document is generated from them. */
  operations: Operation[];
  /** The requests that webhooks send, for the same document. */
  sentEvents: SentEvent[];
  /** Writes an audit row for a staff request that changed nothing: a read, or one that was refused. */
  recordStaffRequest(author: Author, request: StaffRequest): Promise<void>;
  /** Records that this user has called an operation of the platform's staff. */
  recordStaffUse(userId: string): Promise<void>;
}

/** The outcome of a request on a path of the platform's staff. */
export interface StaffRequest {
  operation: Pick<Operation, "operationId" | "method">;
  /** The path as it was called, without the query. */
  path: string;
  query: Readonly<Record<string, string>>;
  orgId: string | undefined;
  status: number;
}
