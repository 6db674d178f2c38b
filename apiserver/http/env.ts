import type { HttpBindings } from "@hono/node-server";
import type { Logger } from "../../shared/program/log.ts";
import type { Principal } from "./authentication/principal.ts";
import type { Membership } from "./authorization/permissions.ts";

/** The variables of a request; the middleware that sets each of them stands in its comment. */
export interface HttpEnv {
  Bindings: Partial<HttpBindings>;
  Variables: {
    /** observe */
    requestId: string;
    /** The X-Request-Id that the client sent: any text of its choice, also one that it has sent before. */
    clientRequestId: string | undefined;
    log: Logger;
    /** The address of the client: see `createSourceFinder`; undefined without a socket. */
    sourceAddress: string | undefined;
    /** addRoute: the pattern of the path, as in the OpenAPI document; undefined until an operation matched. */
    route: string | undefined;
    /** authenticate: undefined until then; on a path of no operation that of a valid credential. */
    principal: Principal | undefined;
    /** authorize: undefined outside an organization. */
    membership: Membership | undefined;
  };
}
