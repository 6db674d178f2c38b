import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_PROVIDER } from "../../platform/stack/provider.ts";
import { startStack } from "../../platform/stack/stack.ts";
import { createTenant, expectStatus } from "../../testing/tenant.ts";
import { until } from "../measure.ts";
import { createImages } from "./images.ts";
import { benchLists } from "./lists.ts";
import { benchScans } from "./scans.ts";
import { benchTokens } from "./tokens.ts";

const DIR = join(import.meta.dirname, "..", "..", "..", ".marina", "bench-registry");
const PARTS = { tokens: benchTokens, scans: benchScans, lists: benchLists };

/**
 * The token service, scans compared with the scanner alone, and lists of many repositories; or the named parts of it.
 */
export async function benchRegistry(names: readonly string[] = []): Promise<void> {
  const unknown = names.find((name) => !(name in PARTS));
  if (unknown !== undefined)
    throw new Error(`no part "${unknown}"; there are: ${Object.keys(PARTS).join(", ")}`);
  const parts = Object.entries(PARTS).filter(([name]) => names.length === 0 || names.includes(name));
  const folder = mkdtempSync(join(tmpdir(), "marina-bench-registry-"));
  const stack = await startStack({ provider: DEFAULT_PROVIDER, dir: DIR, fresh: true, onCrash: "stop" });
  try {
    const { info } = stack;
    await until("the registry", () => fetch(`${info.registry.url}/v2/`).then(Boolean, () => false));
    const alice = createTenant(info.apiUrl, info.tokens.alice);
    const { id: orgID } = expectStatus(
      201,
      await alice.call("createOrganization", { body: { name: "Images" } }),
    );
    const scopes = ["registry:read" as const, "registry:write" as const];
    const { token } = expectStatus(
      201,
      await alice.call("createApiToken", { orgID, body: { name: "ci", role: "member", scopes } }),
    );
    const images = await createImages({ folder, host: info.registry.host, orgId: orgID, token });
    for (const [, run] of parts) await run({ info, dir: DIR, folder, orgId: orgID, token, images });
  } finally {
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
