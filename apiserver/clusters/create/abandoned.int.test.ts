import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import type { Queryable } from "../../db/client.ts";
import { countLockWaits } from "../../db/testing.ts";
import type { Deps } from "../../deps.ts";
import { asAuthorized } from "../../http/contract/caller.ts";
import { completeCreate } from "../../resources/write/create-object.ts";
import { writeIntentJobs } from "../../resources/write/index.ts";
import { listCreate } from "../../resources/write/intents.ts";
import { startTestApp } from "../../testing/app.ts";
import { changeCluster, deleteCluster } from "../write.ts";
import type { NewCluster } from "./create-cluster.ts";
import { aCreateRequest, author, create, racing } from "./testing.ts";

const api = setUp(startTestApp);
let orgId: string;

beforeAll(async () => {
  orgId = await api.createOrganization();
});

/** A process to which something happens once it has written the pools, before it writes the Cluster. */
function slowly(meanwhile: () => Promise<unknown>): Deps {
  const { kube } = api.deps;
  const slow: Deps["kube"]["create"] = async (kind, ...others) => {
    if ((kind as unknown) === clusterKind) await meanwhile();
    return kube.create(kind, ...others);
  };
  return { ...api.deps, kube: { ...kube, create: slow } };
}

/** Lets two minutes pass for a create without a key, in which the sweep abandons it. */
async function abandon({ clusterId }: NewCluster): Promise<void> {
  await api.deps.sql`
    update write_intents set started_at = now() - interval '121 seconds' where group_id = ${clusterId}`;
  for (const job of writeIntentJobs(api.deps)) await job.run(new AbortController().signal);
}

const refuse = () => {
  throw new KubeError({ status: 422, reason: "Invalid", kubeMessage: "not accepted" });
};

/** Its intents, the results in its audit rows, and its objects that are not being deleted. */
async function readOutcome(request: NewCluster) {
  const { db, kube } = api.deps;
  const rows = await api.deps
    .sql`select result from audit_log where target_id = ${request.clusterId} order by id`;
  const all = [
    await kube.get(clusterKind, request.namespace, request.objectName),
    ...(await kube.listAll(nodePoolKind, { namespace: request.namespace })).filter(
      ({ spec }) => spec.clusterName === request.objectName,
    ),
  ];
  return {
    intents: (await listCreate(db, request.clusterId)).length,
    audited: rows.map(({ result }) => result),
    objects: all.flatMap((one) => (one?.metadata.deletionTimestamp === undefined ? (one?.kind ?? []) : [])),
  };
}

describe("a create without a key that goes on after it was abandoned", () => {
  test("is refused, and leaves no cluster without its pools", async () => {
    const request = aCreateRequest(orgId, "Abandoned");
    const creating = create(
      slowly(() => abandon(request)),
      request,
    );
    await expect(creating).rejects.toMatchObject({ code: "conflict", retryAfterSeconds: 5 });
    expect(await readOutcome(request)).toEqual({ intents: 0, audited: ["failed"], objects: [] });
  });

  test("leaves what it has made to the sweep when it cannot delete it, and a repetition is refused until then", async () => {
    const request = aCreateRequest(orgId, "Abandoned and left");
    const deps = slowly(() => abandon(request));
    const remove = () => Promise.reject(new Error("no connection"));
    const creating = create({ ...deps, kube: { ...deps.kube, delete: remove } }, request);
    await expect(creating).rejects.toMatchObject({ code: "conflict" });
    await expect(create(api.deps, request)).rejects.toMatchObject({ code: "conflict", retryAfterSeconds: 5 });
    await abandon(request);
    expect(await readOutcome(request)).toMatchObject({ intents: 0, objects: [] });
  });

  test("succeeds when a repetition has made it anew meanwhile", async () => {
    const request = aCreateRequest(orgId, "Abandoned and repeated");
    const creating = create(
      slowly(async () => {
        await abandon(request);
        await waitFor("the repetition", () => create(api.deps, request));
      }),
      request,
    );
    expect((await creating).id).toBe(request.clusterId);
    expect(await readOutcome(request)).toEqual({
      intents: 0,
      audited: ["failed", "done"],
      objects: ["Cluster", "NodePool"],
    });
  });
});

test("a create of slow calls begins its time anew before each write, and writes no more once it was abandoned", async () => {
  const request = aCreateRequest(orgId, "Slow");
  const { db, kube } = api.deps;
  const starts: unknown[] = [];
  const takeTenSeconds = async () => {
    starts.push((await listCreate(db, request.clusterId))[0]?.startedAt.getTime());
    const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 10_000);
    onTestFinished(() => clock.mockRestore());
  };
  const slow: Deps["kube"]["create"] = async (...args) => {
    const pool = await kube.create(...args);
    await takeTenSeconds();
    await abandon(request);
    return pool;
  };
  const deps = racing({ deps: { ...api.deps, kube: { ...kube, create: slow } } }, "get", takeTenSeconds);
  await expect(create(deps, request)).rejects.toMatchObject({ code: "conflict", retryAfterSeconds: 5 });
  expect(starts).toEqual([expect.any(Number), expect.toSatisfy((start) => start > Number(starts[0]))]);
  expect(await readOutcome(request)).toEqual({ intents: 0, audited: ["failed"], objects: [] });
});

test("a repetition of a create that was abandoned is refused while its last object is being deleted", async () => {
  const request = aCreateRequest(orgId, "Not gone yet");
  const { kube } = api.deps;
  const find: Deps["kube"]["create"] = async (kind, ...others) => {
    const found = await kube.create(kind, ...others);
    const { metadata } = found as unknown as KubeObject;
    if ((kind as unknown) === clusterKind) metadata.deletionTimestamp = metadata.creationTimestamp ?? "";
    return found;
  };
  const repeated = create({ ...api.deps, kube: { ...kube, create: find } }, request);
  await expect(repeated).rejects.toMatchObject({ code: "conflict", retryAfterSeconds: 5 });
  expect(await readOutcome(request)).toMatchObject({ intents: 0, audited: [] });
});

describe("a create that is refused", () => {
  test("deletes nothing of a repetition that has completed it meanwhile", async () => {
    const request = aCreateRequest(orgId, "Refused late");
    const refused = slowly(async () => {
      await create(api.deps, request);
      refuse();
    });
    await expect(create(refused, request)).rejects.toMatchObject({ code: "validation_failed" });
    expect(await readOutcome(request)).toEqual({
      intents: 0,
      audited: ["done"],
      objects: ["Cluster", "NodePool"],
    });
  });

  test("deletes nothing of a repetition that has resumed it meanwhile, which completes it", async () => {
    const request = aCreateRequest(orgId, "Refused and resumed");
    const unanswered = async () => {
      throw new KubeError({ status: 503, reason: "ServiceUnavailable", kubeMessage: "not now" });
    };
    const refused = slowly(async () => {
      await expect(create(slowly(unanswered), request)).rejects.toMatchObject({ status: 503 });
      refuse();
    });
    await expect(create(refused, request)).rejects.toMatchObject({ code: "validation_failed" });
    expect(await readOutcome(request)).toEqual({ intents: 2, audited: [], objects: ["NodePool"] });
    await create(api.deps, request);
    expect(await readOutcome(request)).toMatchObject({ intents: 0, audited: ["done"] });
  });
});

test("a create that is abandoned while it is being completed is refused, and stays to be undone", async () => {
  const request = aCreateRequest(orgId, "Both at once");
  const killed = slowly(() => Promise.reject(new Error("killed")));
  await expect(create(killed, request)).rejects.toThrow("killed");
  const intents = await listCreate(api.deps.db, request.clusterId);
  const completing = await api.deps.sql.begin(async (tx) => {
    await tx`update write_intents set entry = jsonb_set(entry, '{result}', '"failed"')
      where group_id = ${request.clusterId}`;
    const completed = completeCreate(api.deps, intents, []).catch((error: unknown) => error);
    await waitFor("the lock", async () => (await countLockWaits(api.deps.sql)) > 0);
    // In an object: a promise that is returned would be awaited before the commit.
    return { completed };
  });
  expect(await completing.completed).toMatchObject({ code: "conflict", retryAfterSeconds: 5 });
  expect(await readOutcome(request)).toMatchObject({ intents: 2, audited: [] });
});

test("every write that has an intent is over at the server before the sweep looks whether it was made", async () => {
  const seen = new Set<string>();
  const note = (verb: string, { serverTimeoutMs }: { serverTimeoutMs?: number | undefined } = {}) =>
    seen.add(`${verb} ${serverTimeoutMs}`);
  const { kube } = api.deps;
  const noting: Deps["kube"] = {
    ...kube,
    create: (kind, object, options) => {
      if ([clusterKind, nodePoolKind].includes(kind as never)) note("create", options);
      return kube.create(kind, object, options);
    },
    jsonPatch: async (...args) => {
      note("change", args[4]);
      // Not with its transaction, which may have waited.
      const since = await api.deps
        .sql`select from write_intents where started_at > ${begun}::text::timestamptz`;
      expect(since).toHaveLength(1);
      return kube.jsonPatch(...args);
    },
    delete: (...args) => {
      note("delete", args[3]);
      return kube.delete(...args);
    },
  };
  const deps = { ...api.deps, kube: noting };
  let begun = "";
  const confirm = async (tx: Queryable) => {
    for (const row of await tx.execute<{ now: string }>(sql`select now()::text`)) begun = row.now;
  };
  const caller = { ...asAuthorized(author), confirm };
  const cluster = await create(deps, aCreateRequest(orgId, "Noted"));
  const { projected } = await changeCluster(deps, caller, cluster, {
    action: "cluster.update",
    preconditions: undefined,
    merge: () => ({ outcome: "patch", patch: { displayName: "Noted twice" } }),
  });
  await deleteCluster(deps, caller, projected);
  expect(seen).toEqual(new Set(["create 25000", "change 25000", "delete 25000"]));
});
