import type { Context } from "hono";
import type { Origin, Principal } from "../authentication/principal.ts";
import type { HttpEnv } from "../env.ts";
import type { Operation } from "./operation.ts";

/** The author of what this request changes. */
export function toOrigin(
  c: Context<HttpEnv>,
  { access }: Pick<Operation, "access">,
  principal: Principal,
): Origin {
  return {
    principal,
    requestId: c.get("requestId"),
    sourceAddress: c.get("sourceAddress"),
    ...(access === "platform-admin" ? { asStaff: true } : {}),
  };
}
