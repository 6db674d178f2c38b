import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readStack, waitFor, waitForObjectStore, waitForRegistry } from "../platform/stack/testing.ts";
import { readCommands, runCommands } from "../testing/documented-commands.ts";

const stack = readStack();
const ROOT = join(import.meta.dirname, "..", "..");
const PAGES = join(ROOT, "docs", "tenants");
const COMMANDS_TIMEOUT_MS = 800_000;
const folder = mkdtempSync(join(tmpdir(), "marina-commands-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (page: string, folder = PAGES) =>
  readCommands(join(folder, page), "e2e/stories/documented-commands.test.ts").map((block) =>
    block.replaceAll("https://api.example.com", stack.apiUrl),
  );

const shell = {
  cwd: folder,
  env: {
    PATH: `${dirname(stack.kubectl)}:${process.env.PATH}`,
    HOME: folder,
    TOKEN: stack.tokens.alice,
  },
  timeoutMs: COMMANDS_TIMEOUT_MS,
};

test("the commands of the pages for tenants work one after another, in one shell", async ({ signal }) => {
  await Promise.all([
    waitForObjectStore(),
    waitForRegistry(),
    waitFor("kubectl to be built", () => existsSync(stack.kubectl)),
  ]);
  const first = read("first-cluster.md");
  const pages = [
    "members",
    "access",
    "billing",
    "clusters",
    "node-pools",
    "clients",
    "registry",
    "storage",
    "support",
  ];
  const others = pages.map((page) => read(`${page}.md`));
  expect(others.map(({ length }) => length)).toEqual([2, 1, 1, 2, 1, 3, 1, 1, 2]);
  const output = await runCommands([...first.slice(0, -1), ...others.flat(), ...first.slice(-1)], {
    ...shell,
    signal,
  });

  expect(output).not.toMatch(/"error"|parse error/);
  const { effects, nodes } = { effects: /"monthly_eur_max"/, nodes: /^\S*web\S* +Ready/m };
  expect(output).toMatch(effects);
  expect(output).toMatch(nodes);
  expect(output).toMatch(/^shop$/m);
  expect(output).toMatch(/"email":"carol@example.com","role":"member","source":"direct"/);
  expect(output).toMatch(/"action":"member.invite","actor":"alice@example.com"/);
  expect(output).toContain('"clusters:update","nodepools:read"');
  expect(output).toMatch(/"forecast_eur": \d/);
  expect(output).toContain("secret/marina-registry created");
  expect(output).toContain('"effective_gb"');
  expect(output).toMatch(/"status": "open",\s+"respond_by": "20/);
  expect(output).toContain("The log of the kubelet.");
  expect(output).toContain('"deleting"');
});

test("the commands of the page for engineers work one after another, in an organization of a tenant", async ({
  signal,
}) => {
  await waitFor("kubectl to be built", () => existsSync(stack.kubectl));
  symlinkSync(join(ROOT, "crds"), join(folder, "crds"));
  const commands = read("kubectl.md", join(ROOT, "docs", "operators"));
  expect(commands).toHaveLength(7);
  const output = await runCommands([...read("first-cluster.md").slice(0, 1), ...commands], {
    ...shell,
    env: { ...shell.env, KUBECONFIG: stack.kubeconfig },
    signal,
  });

  expect(output).toContain("cluster.cloud.marina.dev/shop condition met");
  expect(output).toContain("nodepool.cloud.marina.dev/shop-web scaled");
  expect(output).toContain("clusteraccess.cloud.marina.dev/alice condition met");
  expect(readFileSync(join(folder, "alice.crt"), "utf8")).toContain("BEGIN CERTIFICATE");
  expect(output).toMatch(/^Username +alice@example.com$/m);
  expect(output).toMatch(/"shop" deleted/);
});
