import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../e2e/stack/testing.ts";
import { clusterKind } from "./cluster.ts";
import { ANNOTATION_REQUEST_ID } from "./names.ts";
import { idleClusterSpec, objectOf, openTestApi, type TestApi } from "./testing.ts";

const PERSON = ["--as=alice", "--as-group=system:masters"];
const PROGRAM = [
  "--as=system:serviceaccount:marina-system:marina-apiserver",
  "--as-group=system:serviceaccounts:marina-system",
  "--as-group=system:masters",
];

let api: TestApi;
let folder: string;

/** The policy is installed with the stack. */
beforeAll(async () => {
  api = await openTestApi();
  folder = await mkdtemp(join(tmpdir(), "writer-policy-"));
});
afterAll(async () => {
  await api.kubectl("delete", "clusters.cloud.marina.dev", "--all", "--namespace", api.namespace);
  await rm(folder, { recursive: true });
  await api.close();
});

async function apply(object: object, ...options: string[]): Promise<string> {
  const file = join(folder, "object.json");
  await writeFile(file, JSON.stringify(object));
  return api.kubectl("apply", "--server-side", "-f", file, ...options);
}

function write(
  name: string,
  user: readonly string[],
  manager: string,
  { annotations = {}, spec = {} }: { annotations?: object; spec?: object } = {},
): Promise<string> {
  const metadata = { name, namespace: api.namespace, annotations };
  const object = objectOf(clusterKind, metadata, { ...idleClusterSpec, ...spec });
  return apply(object, `--field-manager=${manager}`, "--force-conflicts", ...user);
}

const patch = (name: string, user: readonly string[], manager: string, body: object) =>
  api.kubectl(
    "--namespace",
    api.namespace,
    "patch",
    "clusters.cloud.marina.dev",
    name,
    "--type=merge",
    "-p",
    JSON.stringify(body),
    `--field-manager=${manager}`,
    ...user,
  );

test("nobody but Marina's programs writes under a field manager of Marina", async () => {
  await expect(write("forged", PERSON, "marina-apiserver")).rejects.toThrow(
    /begins with marina- are Marina's own/,
  );
  await expect(write("forged", PROGRAM, "marina-apiserver")).resolves.toContain("applied");
  const change = { spec: { displayName: "Forged" } };
  await expect(patch("forged", PERSON, "marina-operator", change)).rejects.toThrow(/begins with marina-/);
  await expect(patch("forged", PROGRAM, "marina-operator", change)).resolves.toContain("patched");
});

test("nobody but Marina's programs sets the id of a REST request; a change by others leaves it as it is", async () => {
  const annotations = { [ANNOTATION_REQUEST_ID]: "request-1" };
  await expect(write("request", PERSON, "kubectl", { annotations })).rejects.toThrow(
    /is set by Marina alone/,
  );
  await expect(write("request", PROGRAM, "marina-apiserver", { annotations })).resolves.toContain("applied");
  const other = { metadata: { annotations: { [ANNOTATION_REQUEST_ID]: "request-2" } } };
  await expect(patch("request", PERSON, "kubectl", other)).rejects.toThrow(/is set by Marina alone/);
  await expect(patch("request", PERSON, "kubectl", { spec: { displayName: "Mine" } })).resolves.toContain(
    "patched",
  );
});

test.each(["kubectl", "argocd-controller", "kustomize-controller", "marinade"])(
  "%s creates, takes fields over from Marina, removes finalizers and deletes",
  async (manager) => {
    const name = `by-${manager}`;
    await write(name, PROGRAM, "marina-apiserver", { spec: { displayName: `Before ${manager}` } });
    await write(name, PERSON, manager, { spec: { displayName: `After ${manager}` } });
    await patch(name, PROGRAM, "marina-operator", { metadata: { finalizers: ["example.com/hold"] } });
    await api.kubectl(
      "--namespace",
      api.namespace,
      "delete",
      "clusters.cloud.marina.dev",
      name,
      "--wait=false",
      ...PERSON,
    );
    await patch(name, PERSON, manager, { metadata: { finalizers: null } });
    const isDeleted = async () => (await api.client.get(clusterKind, api.namespace, name)) === undefined;
    await waitFor("the cluster to be deleted", isDeleted);
    expect(await isDeleted()).toBe(true);
  },
);
