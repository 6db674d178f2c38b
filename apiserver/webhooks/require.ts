import type { Deps } from "../deps.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import type { SecretKeys } from "./secrets/rotate.ts";
import { createAddressGuard } from "./sending/address-guard.ts";
import { checkEndpoint } from "./sending/endpoint-url.ts";
import { createResolver } from "./sending/resolver.ts";
import type { Webhook } from "./store.ts";

/** The keys for the secrets of webhooks. Throws 503 dependency_unavailable when none is configured. */
export function requireKeys({ config }: Pick<Deps, "config">): SecretKeys {
  const [first, ...others] = config.webhooks.keys;
  if (first !== undefined) return [first, ...others];
  throw new ApiError(
    "dependency_unavailable",
    "Webhooks cannot be changed: this service has no key for their secrets.",
  );
}

/** Throws 422 for an endpoint that may not be called; resolves its name, for at most 2 s. */
export async function requireEndpoint({ config }: Pick<Deps, "config">, url: string): Promise<void> {
  const { allowedAddresses, blockedAddresses, blockedNames, dnsServers } = config.webhooks;
  const guard = createAddressGuard({ allowed: allowedAddresses, blocked: blockedAddresses });
  const resolver = createResolver({ servers: dnsServers });
  const refusal = await checkEndpoint(url, { guard, resolver, blockedNames });
  if (refusal !== undefined) throw invalidField("url", refusal.code, refusal.message);
}

/** Throws 409 conflict for a webhook to which nothing is delivered. */
export function requireEnabled({ enabled }: Pick<Webhook, "enabled">): void {
  if (!enabled) throw new ApiError("conflict", "The webhook is disabled; enable it first.");
}
