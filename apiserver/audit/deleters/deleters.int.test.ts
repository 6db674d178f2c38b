import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { AUDIT_LOG, AUDIT_WEBHOOK } from "../../../e2e/platform/stack/management-cluster.ts";
import { kubectl, readStack, waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../../shared/crd/names.ts";
import { type ProjectedCluster, projectObservations } from "../../resources/project/index.ts";
import { startProjector } from "../../resources/project/projector.ts";
import { projected } from "../../resources/project/testing.ts";
import { startTestApp } from "../../testing/app.ts";
import { recordDueDeletions } from "../record.ts";
import { awaitedDeletions, deletionRequests } from "../table.ts";

const { path: PATH, token: TOKEN } = AUDIT_WEBHOOK;
const SECOND_MS = 1000;

const api = setUp(() => startTestApp({ auditWebhookToken: TOKEN }));
let orgId: string;
beforeAll(async () => {
  orgId = await api.createOrganization();
});

const post = (rawBody: string, token: string = TOKEN) => api.request("POST", PATH, { token, rawBody });
const recordDue = (afterSeconds: number) =>
  recordDueDeletions(api.deps.db, new Date(Date.now() + afterSeconds * SECOND_MS));

async function readDeletions(targetId: string, path = `/api/v1/organizations/${orgId}/audit-log`) {
  const as = path.includes("/admin/") ? "staff" : "alice";
  const { body } = await api.request("GET", `${path}?target=${targetId}`, { as });
  const entries: { action: string; actor: { kind: string; name: string | null }; after: object }[] =
    body.items;
  return entries
    .filter(({ action }) => action.endsWith(".delete"))
    .map(({ actor: { kind, name }, after }) => ({ kind, name, after }));
}
const readAsStaff = (targetId: string) => readDeletions(targetId, "/api/v1/admin/audit-log");

describe("of an object that is seen to be deleted", () => {
  let count = 0;
  /** A cluster whose deletion was requested at a full second. */
  function aDeletion() {
    count += 1;
    const object = projected(orgId, count);
    const requestedAt = new Date(Math.floor(Date.now() / SECOND_MS) * SECOND_MS);
    const metadata = {
      ...object.object.metadata,
      creationTimestamp: new Date(requestedAt.getTime() - 60 * SECOND_MS).toISOString(),
    };
    const deleting = { ...metadata, deletionTimestamp: requestedAt.toISOString(), resourceVersion: "900" };
    const withMetadata = (changed: typeof metadata, resourceVersion: bigint): ProjectedCluster => ({
      ...object,
      resourceVersion,
      object: { ...object.object, metadata: changed },
    });
    const see = async () => {
      for (const seen of [withMetadata(metadata, 500n), withMetadata(deleting, 900n)])
        await api.deps.db.transaction((tx) => projectObservations(tx, [{ object: seen }], api.deps.config));
    };
    const hear = async (username: string, fromMs = 100, toMs = 200) => {
      const instant = (ms: number) => new Date(requestedAt.getTime() + ms).toISOString();
      const event = {
        stage: "ResponseComplete",
        verb: "delete",
        requestURI: "/",
        user: { username },
        objectRef: {
          apiGroup: "cloud.marina.dev",
          resource: "clusters",
          namespace: object.namespace,
          name: object.name,
        },
        responseStatus: { code: 200 },
        requestReceivedTimestamp: instant(fromMs),
        stageTimestamp: instant(toMs),
      };
      const list = { apiVersion: "audit.k8s.io/v1", kind: "EventList", items: [event] };
      expect((await post(JSON.stringify(list))).status).toBe(204);
    };
    return { id: object.id, see, hear };
  }
  const named = { kind: "kubernetes_user", name: "bob", after: { last_writer: "kubectl" } };
  const unknown = { kind: "kubernetes", name: "unknown", after: { last_writer: "kubectl" } };
  const both = { possible_deleters: ["bob", "carol"], last_writer: "kubectl" };

  test.each<[string, (deletion: ReturnType<typeof aDeletion>) => Promise<unknown>, object]>([
    ["before", async ({ see, hear }) => [await hear("bob"), await see()], named],
    ["after", async ({ see, hear }) => [await see(), await hear("bob")], named],
    [
      "twice, as the Kubernetes API repeats what was not confirmed",
      async ({ see, hear }) => [await hear("bob"), await see(), await hear("bob")],
      named,
    ],
    [
      "with that of a second deletion before it",
      async ({ see, hear }) => [await hear("carol", 300, 400), await see(), await hear("bob")],
      named,
    ],
    [
      "with another of the same moment",
      async ({ see, hear }) => [await hear("carol", 150, 400), await see(), await hear("bob")],
      { ...unknown, after: both },
    ],
    ["never", ({ see }) => see(), unknown],
  ])("an event that comes %s leaves one entry", async (_when, arrive, expected) => {
    const deletion = aDeletion();
    await arrive(deletion);
    await recordDue(0);
    expect(await readAsStaff(deletion.id)).toEqual([]);
    await recordDue(190);
    await deletion.see();
    await recordDue(190);
    expect(await readAsStaff(deletion.id)).toEqual([expected]);
  });

  test("a name is taken after ten seconds, nobody's after three minutes, at the time at which it was seen", async () => {
    const [known, unheard] = [aDeletion(), aDeletion()];
    await known.hear("bob");
    for (const { see } of [known, unheard]) await see();
    await recordDue(20);
    expect([await readAsStaff(known.id), await readAsStaff(unheard.id)]).toEqual([[named], []]);
    const [waiting] = await api.deps.db
      .select()
      .from(awaitedDeletions)
      .where(and(eq(awaitedDeletions.orgId, orgId), eq(awaitedDeletions.targetId, unheard.id)));
    await recordDue(190);
    const path = `/api/v1/organizations/${orgId}/audit-log?target=${unheard.id}&action=cluster.delete`;
    const { body } = await api.request("GET", path);
    expect(body.items).toMatchObject([{ at: waiting?.seenAt.toISOString() }]);
  });

  test("whoever deletes it again is not taken for the deleter while an earlier request may be told of", async () => {
    const deletion = aDeletion();
    await deletion.see();
    await deletion.hear("carol", 3000, 3100);
    await recordDue(20);
    expect(await readAsStaff(deletion.id)).toEqual([]);
    await deletion.hear("bob");
    await recordDue(20);
    expect(await readAsStaff(deletion.id)).toEqual([named]);
  });

  test("one whose month has left the log has its entry in the oldest month, and holds up no other", async () => {
    const [old, recent] = [aDeletion(), aDeletion()];
    for (const { see } of [old, recent]) await see();
    await api.deps.db
      .update(awaitedDeletions)
      .set({ seenAt: new Date(Date.UTC(2020, 0, 15)) })
      .where(and(eq(awaitedDeletions.orgId, orgId), eq(awaitedDeletions.targetId, old.id)));
    await recordDue(190);
    expect([await readAsStaff(old.id), await readAsStaff(recent.id)]).toEqual([[unknown], [unknown]]);
  });

  test("tenants are shown the names of ServiceAccounts, and those of persons neither in the entry nor by searching", async () => {
    const account = "system:serviceaccount:flux-system:kustomize-controller";
    const [byPerson, byProgram] = [aDeletion(), aDeletion()];
    await byPerson.hear("dave@platform.example");
    await byProgram.hear(account);
    for (const { see } of [byPerson, byProgram]) await see();
    await recordDue(20);
    expect(await readDeletions(byPerson.id)).toMatchObject([{ kind: "kubernetes_user", name: null }]);
    expect(await readAsStaff(byPerson.id)).toMatchObject([{ name: "dave@platform.example" }]);
    expect(await readDeletions(byProgram.id)).toMatchObject([{ kind: "kubernetes_user", name: account }]);
    const search = async (actor: string, path: string, as: "alice" | "staff") =>
      (await api.request("GET", `${path}?actor=${encodeURIComponent(actor)}`, { as })).body.items.length;
    const tenants = `/api/v1/organizations/${orgId}/audit-log`;
    expect(await search("dave@platform.example", tenants, "alice")).toBe(0);
    expect(await search(account, tenants, "alice")).toBe(1);
    expect(await search("dave@platform.example", "/api/v1/admin/audit-log", "staff")).toBe(1);
  });
});

test.each<[string, string, string | undefined, number]>([
  ["without the credential", "{}", "another-credential-of-some-length", 401],
  ["that is no JSON", "{", undefined, 400],
  ["that is no list of events", "{}", undefined, 400],
  ["of more than 4 MiB", `"${"a".repeat(4_194_304)}"`, undefined, 413],
])("a body %s is refused", async (_what, body, token, status) => {
  expect((await post(body, token)).status).toBe(status);
});

/** A list of successful deletions of clusters by bob. */
function listOfDeletions(deletions: { org: string; name: string; at: Date }[]): string {
  const items = deletions.map(({ org, name, at }) => ({
    stage: "ResponseComplete",
    verb: "delete",
    requestURI: "/",
    user: { username: "bob" },
    objectRef: { apiGroup: "cloud.marina.dev", resource: "clusters", namespace: `org-${org}`, name },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: new Date(at.getTime() - 100).toISOString(),
    stageTimestamp: at.toISOString(),
  }));
  return JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "EventList", items });
}

test("a flood of deletions in one organization is kept up to a bound, and in another one still", async () => {
  const [flooded, other] = [crypto.randomUUID(), crypto.randomUUID()];
  await api.deps.sql`insert into deletion_requests
      (org_id, resource, name, username, impersonator, minute, received_at, completed_at)
    select ${flooded}, 'clusters', 'c' || n, 'bob', '', now(), now(), now() from generate_series(1, 10000) as n`;
  const at = new Date();
  await post(listOfDeletions([flooded, other].map((org) => ({ org, name: "more", at }))));
  const countOf = (org: string) => api.deps.db.$count(deletionRequests, eq(deletionRequests.orgId, org));
  expect([await countOf(flooded), await countOf(other)]).toEqual([10_000, 1]);
});

test("who deletes the same object again and again takes one place a minute, from the first to the last", async () => {
  const org = crypto.randomUUID();
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  const at = (second: number) => new Date(minute + second * SECOND_MS);
  const repeated = [30, 5, 59, 60, 7].map((second) => ({ org, name: "held", at: at(second) }));
  for (const part of [repeated.slice(0, 2), repeated.slice(2), repeated]) await post(listOfDeletions(part));
  const { receivedAt, completedAt } = deletionRequests;
  const kept = await api.deps.db
    .select({ receivedAt, completedAt })
    .from(deletionRequests)
    .where(eq(deletionRequests.orgId, org))
    .orderBy(completedAt);
  const from = (second: number) => new Date(at(second).getTime() - 100);
  expect(kept).toEqual([
    { receivedAt: from(5), completedAt: at(59) },
    { receivedAt: from(60), completedAt: at(60) },
  ]);
});

test("an event as the Kubernetes API itself writes it names who deleted by kubectl, and under which name", async (context) => {
  const auditLog = join(dirname(readStack().logs), AUDIT_LOG);
  context.skip(!existsSync(auditLog), "this stack was started without an audit log");
  const stop = new AbortController();
  const projector = startProjector(api.deps, stop.signal);
  try {
    await expect.poll(() => projector.synced()).toBe(true);
    const clusters = `/api/v1/organizations/${orgId}/clusters`;
    const body = { name: "Deleted by kubectl", k8s_version: "1.34", plan: "scale" };
    const { id } = (await api.request("POST", clusters, { body })).body;
    const place = { namespace: `org-${orgId}`, labelSelector: `${LABEL_ID}=${id}` };
    const [cluster] = await api.deps.kube.listAll(clusterKind, place);
    const path = `/namespaces/${place.namespace}/clusters/${cluster?.metadata.name}`;
    const as = ["--as=erin@platform.example", "--as-group=system:masters"];
    const resource = `clusters.cloud.marina.dev/${cluster?.metadata.name}`;
    const grace = ["--as=grace@platform.example", "--as-group=system:masters", "--dry-run=server"];
    await kubectl(["delete", resource, "--namespace", place.namespace, ...grace]);
    await kubectl(["delete", "--raw", `/apis/cloud.marina.dev/v1${path}`, ...as]);
    await expect.poll(async () => (await api.request("GET", `${clusters}/${id}`)).status).toBe(404);
    const items = await waitFor("the events", async () => {
      const lines = (await readFile(auditLog, "utf8")).split("\n");
      const found = lines.filter((line) => line.includes(path) && line.includes('"verb":"delete"'));
      const isComplete = found.some((line) => line.includes("erin@platform.example"));
      return isComplete ? found.map((line) => JSON.parse(line)) : undefined;
    });
    const list = { apiVersion: "audit.k8s.io/v1", kind: "EventList", metadata: {}, items };
    expect((await post(JSON.stringify(list))).status).toBe(204);
    const users = api.deps.db.select({ username: deletionRequests.username }).from(deletionRequests);
    expect(await users.where(eq(deletionRequests.orgId, orgId))).not.toContainEqual({
      username: "grace@platform.example",
    });
    await recordDue(20);
    expect(await readAsStaff(id)).toMatchObject([
      {
        kind: "kubernetes_user",
        name: "erin@platform.example",
        after: { impersonated_by: expect.any(String) },
      },
    ]);
  } finally {
    stop.abort();
    await projector.stopped;
  }
});

test("more lists than a process takes are refused, with the time after which they come again", async () => {
  let refused = await post("{}");
  for (let n = 0; n < 200 && refused.status !== 429; n += 1) refused = await post("{}");
  expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, 1]);
});
