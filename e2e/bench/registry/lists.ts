import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Pool } from "undici";
import { percentile } from "../measure.ts";
import { type Figure, report } from "../report.ts";
import type { RegistryBench } from "./images.ts";

const REPOSITORIES = 10_000;
const TAGS = 20;
const PAGE = 50;
const WARM_UP = 10;
const REQUESTS = 200;

/**
 * Lists of 10,000 repositories of 20 tags of one organization: the first page, compared with the last one, and tags.
 */
export async function benchLists({ info, dir, orgId, images }: RegistryBench): Promise<void> {
  await images.push("seed", "0", 1000);
  for (let n = 1; n < TAGS; n++) await images.tag("seed", "0", String(n));
  copyRepositories(join(dir, "registry", "data", "docker/registry/v2/repositories", `org-${orgId}`));
  const api = new Pool(info.apiUrl, { connections: 1 });
  const headers = { authorization: `Bearer ${info.tokens.alice}` };
  const base = `/api/v1/organizations/${orgId}/registry/repositories`;
  const lastCursor = Buffer.from(nameOf(REPOSITORIES - PAGE)).toString("base64url");
  const paths = {
    "repositories, first page": `${base}?limit=${PAGE}`,
    "repositories, last page": `${base}?limit=${PAGE}&cursor=${lastCursor}`,
    "tags of the first repository": `${base}/${nameOf(1)}/tags`,
    "tags of the last repository": `${base}/${nameOf(REPOSITORIES)}/tags`,
  };
  const times = new Map(Object.keys(paths).map((name) => [name, [] as number[]]));
  try {
    for (let n = 0; n < WARM_UP + REQUESTS; n++)
      for (const [name, path] of Object.entries(paths)) {
        const startedAt = performance.now();
        const { statusCode, body } = await api.request({ method: "GET", path, headers });
        const { items } = (await body.json()) as { items: unknown[] };
        if (statusCode !== 200 || items.length < TAGS) throw new Error(`GET ${path}: ${statusCode}`);
        if (n >= WARM_UP) times.get(name)?.push(performance.now() - startedAt);
      }
  } finally {
    await api.close();
  }
  const p99 = [...times].map(([name, all]) => ({ name, value: percentile(all, 0.99) }));
  const [first = Number.NaN, last = Number.NaN] = p99.map(({ value }) => value);
  report(`registry: ${REPOSITORIES} repositories of ${TAGS} tags`, [
    ...p99.map(({ name, value }): Figure => ({ name: `${name}: p99`, value, unit: "ms", limit: 100 })),
    { name: "last page: first page", value: last / first, unit: "x", limit: 1.2 },
  ]);
}

function nameOf(n: number): string {
  return `repository-${String(n).padStart(5, "0")}`;
}

/** In the files of the registry: to push them would take an hour. */
function copyRepositories(folder: string): void {
  const names = Array.from({ length: REPOSITORIES }, (_, n) => nameOf(n + 1)).join("\n");
  execFileSync("xargs", ["-n1", "cp", "-al", "seed"], { cwd: folder, input: names });
}
