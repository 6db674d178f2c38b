import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { createId } from "../../shared/program/id.ts";
import { ROOT } from "../platform/stack/marina.ts";
import { ensureSecrets } from "../platform/stack/secrets.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import type { UserName } from "../platform/stack/users.ts";
import { readCredential } from "../testing/credentials.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const EXAMPLE = join(ROOT, "examples", "gitops", "organization");
const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const namespace = `pipeline-${createId().slice(-8)}`;
const slug = `pipeline-${createId().slice(-8)}`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "marina-organization-"));
  await kubectl(["create", "namespace", namespace]);
  const rights = await readFile(join(EXAMPLE, "rights.yaml"), "utf8");
  await kubectl(["apply", "-f", "-"], { stdin: rights.replaceAll("flux-clusters", namespace) });
  // The authorizer of the API server learns of a binding after it is written.
  const mayWrite = ["auth", "can-i", "patch", "configmaps/organization", `--namespace=${namespace}`];
  const as = `--as=system:serviceaccount:${namespace}:organization`;
  await waitFor("the rights of the Job", () => kubectl([...mayWrite, as]));
});
afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--wait=false"]);
  await rm(folder, { recursive: true });
});

/** Runs the command of the Job with the rights of its ServiceAccount, as a service of the identity provider. */
async function runJob(service: UserName): Promise<{ exitCode: number; output: string }> {
  const { stdout: token } = await kubectl(["create", "token", "organization", "-n", namespace]);
  const { server, ca } = readCredential(await readFile(stack.kubeconfig, "utf8"));
  const { clientSecret } = await ensureSecrets(dirname(stack.logs));
  const files = {
    token,
    namespace,
    "ca.crt": ca,
    "client-id": service,
    "client-secret": clientSecret,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const { command } = parse(await readFile(join(EXAMPLE, "job.yaml"), "utf8")).spec.template.spec
    .containers[0];
  const env = {
    PATH: process.env.PATH,
    MARINA_URL: stack.apiUrl,
    TOKEN_URL: `${stack.issuer}/token`,
    ORGANIZATION: JSON.stringify({ slug, name: "Pipeline" }),
    CLIENT_DIR: folder,
    KUBERNETES_URL: server,
    SERVICE_ACCOUNT_DIR: folder,
  };
  try {
    const { stdout } = await promisify(execFile)(command[0], command.slice(1), { env });
    return { exitCode: 0, output: stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { exitCode: code, output: stdout };
  }
}

async function readConfigMap(): Promise<{ id: string; namespace: string }> {
  const { stdout } = await kubectl(["get", "configmap", "organization", "-n", namespace, "-o", "json"]);
  return JSON.parse(stdout).data;
}

test("the Job of the examples makes an organization once, writes its Namespace, and takes no slug of others", async () => {
  expect(await runJob("alice")).toMatchObject({ exitCode: 0 });
  const made = await readConfigMap();
  expect(made.namespace).toBe(`org-${made.id}`);
  expect(expectStatus(200, await alice.call("getOrganization", { orgID: made.id }))).toMatchObject({
    slug,
    name: "Pipeline",
  });

  expect(await runJob("alice")).toEqual({
    exitCode: 0,
    output: `The organization ${slug} has the Namespace ${made.namespace}.\n`,
  });
  expect(await readConfigMap()).toEqual(made);

  const foreign = await runJob("bob");
  expect(foreign.exitCode).toBe(1);
  expect(foreign.output).toContain("already_exists");
  expect(foreign.output).toContain(`This service is a member of no organization ${slug}.`);
  expect(await readConfigMap()).toEqual(made);
});
