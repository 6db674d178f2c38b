import type { HttpBindings } from "@hono/node-server";
import type { Logger } from "../../shared/program/log.ts";
import type { Principal } from "./authentication/principal.ts";
import type { Membership } from "./authorization/permissions.ts";

/** What addRoute has validated of a request, with the schemas of its operation. */
export interface RequestInput {
  params: unknown;
  query: unknown;
}

/** The variables of a request: `observe` sets the first four; the comment of another one begins with what sets it. */
export interface HttpEnv {
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** Made here, for this request alone. */
    requestId: string;
    /** The X-Request-Id that the client sent: any text of its choice, also one that it has sent before. */
    clientRequestId: string | undefined;
    log: Logger;
    /** The address of the client: see `createSourceFinder`; undefined without a socket. */
    sourceAddress: string | undefined;
    /** addRoute: the pattern of the path, as in the OpenAPI document; undefined until an operation matched. */
    route: string | undefined;
    /** authenticateCaller, the token service of the registry; on a path of no operation that of a valid credential. */
    principal: Principal | undefined;
    /** The token service of the registry: that of a cluster, which is no principal. */
    credential: { id: string; orgId: string } | undefined;
    /** authorizeCaller: undefined outside an organization. */
    membership: Membership | undefined;
    /** addRoute: undefined until an operation has accepted path and query. */
    input: RequestInput | undefined;
  };
}
