import { isRepositoryName, parseRepository } from "../names.ts";

/** A repository of an organization and what a client wants to do there. */
export interface RequestedScope {
  orgId: string;
  /** With the organization's prefix. */
  repository: string;
  actions: string[];
}

const SCOPE_PATTERN = /^repository:([^:]+):([a-z,*]+)$/;
/** A mount names two repositories; no client asks for more at once. */
const MAX_SCOPES = 16;

/**
 * The scopes of a token request (Docker token specification: `repository:<name>:<actions>`, several in one parameter
 * with spaces between, or in several parameters). What is no repository of an organization is left out.
 */
export function parseScopes(parameters: readonly string[]): RequestedScope[] {
  return parameters
    .flatMap((text) => text.split(" "))
    .slice(0, MAX_SCOPES)
    .flatMap((text) => {
      const [, repository = "", actions = ""] = SCOPE_PATTERN.exec(text) ?? [];
      const place = parseRepository(repository);
      if (place === undefined || !isRepositoryName(place.name)) return [];
      return [{ orgId: place.orgId, repository, actions: actions.split(",") }];
    });
}

/** Which of the actions a holder of these rights may do; `*` asks for all of them. */
export function grantActions(
  requested: readonly string[],
  { canRead, canWrite }: { canRead: boolean; canWrite: boolean },
): string[] {
  const granted = [...(canRead ? ["pull"] : []), ...(canWrite ? ["push", "delete"] : [])];
  return granted.filter((action) => requested.includes(action) || requested.includes("*"));
}
