import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { createId } from "../../shared/program/id.ts";
import { ROOT } from "../platform/stack/marina.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";
import type { UserName } from "../platform/stack/users.ts";
import { runOrganizationJob } from "../testing/organization-job.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";

const EXAMPLE = join(ROOT, "examples", "gitops", "organization");
const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const namespace = `pipeline-${createId().slice(-8)}`;
const slug = `pipeline-${createId().slice(-8)}`;

beforeAll(async () => {
  await kubectl(["create", "namespace", namespace]);
  const rights = await readFile(join(EXAMPLE, "rights.yaml"), "utf8");
  await kubectl(["apply", "-f", "-"], { stdin: rights.replaceAll("flux-clusters", namespace) });
  // The authorizer of the API server learns of a binding after it is written.
  const mayWrite = ["auth", "can-i", "patch", "configmaps/organization", `--namespace=${namespace}`];
  const as = `--as=system:serviceaccount:${namespace}:organization`;
  await waitFor("the rights of the Job", () => kubectl([...mayWrite, as]));
});
afterAll(() => kubectl(["delete", "namespace", namespace, "--wait=false"]));

async function runJob(service: UserName): Promise<{ exitCode: number; output: string }> {
  const job = parse(await readFile(join(EXAMPLE, "job.yaml"), "utf8"));
  const { command } = job.spec.template.spec.containers[0];
  const env = [
    { name: "MARINA_URL", value: stack.apiUrl },
    { name: "TOKEN_URL", value: `${stack.issuer}/token` },
    { name: "ORGANIZATION", value: JSON.stringify({ slug, name: "Pipeline" }) },
  ];
  return runOrganizationJob(stack, { command, env }, { namespace, service });
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
