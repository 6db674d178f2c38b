import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Logger } from "../../shared/log.ts";
import type { Database, Queryable } from "../db/client.ts";
import type { Caller, Membership, Origin, Principal } from "./authentication/principal.ts";
import type { Operation } from "./contract/operation.ts";
import type { RateLimiter } from "./rate-limits/rate-limit.ts";
import type { RequestLimits } from "./server/limits.ts";

/** What every request carries through the middleware. */
export interface HttpEnv {
  Bindings: Partial<HttpBindings>;
  Variables: {
    requestId: string;
    log: Logger;
    /** Of whatever the answer will be. */
    responseHeaders: Record<string, string>;
    /** The pattern of the path, as in the OpenAPI document; absent until an operation matched. */
    route: string | undefined;
    caller: Caller | undefined;
    /** Where the request came from, as far as it can be believed. */
    sourceAddress: string | undefined;
  };
}

/** How the http layer asks the product who somebody is; given by app.ts, so that http/ knows no slice. */
export interface AccessControl {
  /** Turns an Authorization header into a principal. Throws 401 unauthorized, or 503 when it cannot tell. */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /**
   * Uses a ticket up that was made for this path, and returns whom it stands for. Throws 401 unauthorized for one that
   * is unknown, used, expired or for another path.
   */
  redeemTicket(ticket: string, path: string): Promise<Principal>;
  /** Whether this very credential was accepted a moment ago, told without any work. */
  isKnown(authorization: string): boolean;
  /**
   * The principal's membership of an organization that is not deleted; undefined when there is none. With an origin,
   * an invitation that waits for this person is accepted on the way.
   */
  findMembership(principal: Principal, orgId: string, origin?: Origin): Promise<Membership | undefined>;
}

/** What became of a request on a path of the platform's staff. */
export interface StaffRequest {
  operation: Pick<Operation, "operationId" | "method">;
  /** The path as it was called, without the query. */
  path: string;
  orgId: string | undefined;
  status: number;
}

/** Where slices add their operations: see `addRoute` in routes.ts. */
export interface Router {
  app: OpenAPIHono<HttpEnv>;
  access: AccessControl;
  db: Database;
  idempotency: IdempotencyStore;
  limiter: RateLimiter;
  limits: RequestLimits;
  /** Every operation that was added, in that order. */
  operations: Operation[];
  /** Keeps a trace of a staff request that changed nothing: a read, or one that was refused. */
  recordStaffRequest(origin: Origin, request: StaffRequest): Promise<void>;
}

/** The identity of one keyed request: who, where, with which key, and a hash of what was asked. */
export interface IdempotencyClaim {
  /** Principal, method and full path. */
  scope: string;
  key: string;
  bodyHash: string;
  /** What a first attempt fixes and every later one adopts. */
  id: string;
  objectName: string | null;
}

export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type ClaimResult =
  | { outcome: "run"; id: string; objectName: string | null; resumed: boolean }
  | { outcome: "replay"; answer: StoredResponse };

/** Keeps the outcome of keyed requests for 24 h. */
export interface IdempotencyStore {
  /** Throws 422 idempotency_key_reused for another body, 409 operation_in_progress while the lease of another runs. */
  claim(claim: IdempotencyClaim): Promise<ClaimResult>;
  /** Keeps the outcome; in the transaction of the effect when one is given. */
  complete(claim: IdempotencyClaim, answer: StoredResponse, tx?: Queryable): Promise<void>;
  /** Ends the lease without an outcome, so that a retry may run at once and adopts id and object name. */
  release(claim: IdempotencyClaim): Promise<void>;
}
