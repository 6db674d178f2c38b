import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Logger } from "../../shared/log.ts";
import type { Membership, Principal, Visitor } from "./principal.ts";

/** What every request carries through the middleware. */
export interface HttpEnv {
  Bindings: Partial<HttpBindings>;
  Variables: {
    requestId: string;
    log: Logger;
    /** The pattern of the path, as in the OpenAPI document; absent until an operation matched. */
    route: string | undefined;
    visitor: Visitor;
  };
}

/** How the http layer asks the product who somebody is; given by app.ts, so that http/ knows no slice. */
export interface AccessControl {
  /** Turns an Authorization header into a principal. Throws 401 unauthorized, or 503 when it cannot tell. */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /** The principal's membership of an organization that is not deleted; undefined when there is none. */
  findMembership(principal: Principal, orgId: string): Promise<Membership | undefined>;
}

/** Where slices add their operations: see `addRoute` in routes.ts. */
export interface Router {
  app: OpenAPIHono<HttpEnv>;
  access: AccessControl;
  idempotency: IdempotencyStore;
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

export interface StoredAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export type ClaimResult =
  | { outcome: "run"; id: string; objectName: string | null; resumed: boolean }
  | { outcome: "replay"; answer: StoredAnswer };

/** Keeps the outcome of keyed requests for 24 h. */
export interface IdempotencyStore {
  /** Throws 422 idempotency_key_reused for another body, 409 operation_in_progress while the lease of another runs. */
  claim(claim: IdempotencyClaim): Promise<ClaimResult>;
  complete(claim: IdempotencyClaim, answer: StoredAnswer): Promise<void>;
  /** Ends the lease without an outcome, so that a retry may run at once and adopts id and object name. */
  release(claim: IdempotencyClaim): Promise<void>;
}
