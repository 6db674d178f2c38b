import { eq } from "drizzle-orm";
import { beforeAll, expect, test, vi } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import type { Deps } from "../deps.ts";
import type { Author } from "../http/authentication/principal.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { ApiError } from "../http/errors.ts";
import { writeIntents } from "../resources/table.ts";
import { writeIntentJobs } from "../resources/write/index.ts";
import { makePrincipal } from "../testing/membership.ts";
import { issueKubeconfig } from "./issue.ts";
import { holdsAccess, setUpAccessService } from "./testing.ts";

const {
  api,
  issuer,
  owner,
  clusters: [cluster],
} = setUpAccessService("Opened");
let author: Author;

beforeAll(() => {
  const principal = makePrincipal(owner.userId, { issuer: issuer.config.issuer });
  author = { principal, requestId: "request-1", sourceAddress: undefined };
});

function sign(access: ClusterAccess): ClusterAccess {
  const condition = { type: "Ready" as const, status: "True" as const, reason: "Issued", message: "" };
  const conditions = [{ ...condition, lastTransitionTime: new Date().toISOString(), observedGeneration: 1 }];
  return { ...access, status: { conditions, certificate: "signed" } };
}

/** The dependencies of a process that sees each access as signed, once `whenRead` resolves. */
function withSigner(whenRead: (access: ClusterAccess) => Promise<unknown>): Deps {
  const { kube } = api.deps;
  let created: ClusterAccess | undefined;
  const create = async (...args: Parameters<typeof kube.create>) => {
    const object = await kube.create(...args);
    created = object as unknown as ClusterAccess;
    return object;
  };
  const get = async (...args: Parameters<typeof kube.get>) => {
    if ((args[0] as { kind: string }).kind !== clusterAccessKind.kind || created === undefined)
      return kube.get(...args);
    await whenRead(created);
    return sign(created);
  };
  return { ...api.deps, kube: { ...kube, create, get } as unknown as Deps["kube"] };
}

const request = () => ({ id: createId(), ttlSeconds: 600 });
const holds = (id: string) => holdsAccess(api.deps, cluster, id);

/** What became of the request for an access: the results in its audit rows, whether it is there, and its open intents. */
async function readOutcome(id: string) {
  const { db } = api.deps;
  const rows = await db.select().from(auditLog).where(eq(auditLog.targetId, id));
  return {
    audited: rows.map(({ action, result }) => `${action} ${result}`),
    isHeld: await holds(id),
    intents: await db.$count(writeIntents, eq(writeIntents.objectId, id)),
  };
}

/** Completes what requests have left that ended a minute ago. */
async function sweepIntents(id: string, deps: Deps = api.deps): Promise<void> {
  await api.deps
    .sql`update write_intents set started_at = now() - interval '61 seconds' where object_id = ${id}`;
  for (const job of writeIntentJobs(deps)) await job.run(new AbortController().signal);
}

test("a kubeconfig that is returned is audited, and nothing of it is left open", async () => {
  const wanted = request();
  await issueKubeconfig(
    withSigner(async () => undefined),
    asAuthorized(author),
    cluster,
    wanted,
  );
  await sweepIntents(wanted.id);
  expect(await readOutcome(wanted.id)).toEqual({
    audited: ["cluster_access.create done"],
    isHeld: true,
    intents: 0,
  });
});

test("a kubeconfig has the CA that its cluster has when it is signed, for the cluster may be made anew meanwhile", async () => {
  const ca = Buffer.from("another CA").toString("base64");
  const admin = `clusters: [{cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: ${ca}}}]`;
  const data = { value: Buffer.from(admin).toString("base64") };
  const name = nameAdminSecret(cluster.name);
  const { kubeconfig } = await issueKubeconfig(
    withSigner(() =>
      api.deps.kube.mergePatch(secretKind, cluster.namespace, name, { data }, { fieldManager: "test" }),
    ),
    asAuthorized(author),
    cluster,
    request(),
  );
  expect(kubeconfig).toContain(ca);
});

test("an access whose process ends before the kubeconfig is returned is deleted, and audited as failed", async () => {
  const wanted = request();
  const { promise: forever } = Promise.withResolvers<void>();
  void issueKubeconfig(
    withSigner(() => forever),
    asAuthorized(author),
    cluster,
    wanted,
  );
  await waitFor("the access to be created", () => holds(wanted.id));
  await sweepIntents(wanted.id);
  expect(await readOutcome(wanted.id)).toEqual({
    audited: ["cluster_access.create failed"],
    isHeld: false,
    intents: 0,
  });
});

test("a request whose access was deleted as one of an ended process gets no kubeconfig, and may be repeated", async () => {
  const wanted = request();
  const deps = withSigner(() => sweepIntents(wanted.id));
  await expect(issueKubeconfig(deps, asAuthorized(author), cluster, wanted)).rejects.toMatchObject({
    code: "dependency_unavailable",
  });
  expect((await readOutcome(wanted.id)).audited).toEqual(["cluster_access.create failed"]);
});

test("a request gets no kubeconfig, and does not wait, while its access is deleted as one of an ended process", async () => {
  const wanted = request();
  const deletion = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  let swept: Promise<void> | undefined;
  const slow: Deps["kube"] = {
    ...api.deps.kube,
    async delete(...args) {
      started.resolve();
      await deletion.promise;
      return api.deps.kube.delete(...args);
    },
  };
  const deps = withSigner(async () => {
    swept ??= sweepIntents(wanted.id, { ...api.deps, kube: slow });
    await started.promise;
  });
  await expect(issueKubeconfig(deps, asAuthorized(author), cluster, wanted)).rejects.toMatchObject({
    code: "dependency_unavailable",
  });
  deletion.resolve();
  await swept;
  expect(await readOutcome(wanted.id)).toEqual({
    audited: ["cluster_access.create failed"],
    isHeld: false,
    intents: 0,
  });
});

test("a request whose last commit has an unknown outcome leaves no access", async () => {
  const wanted = request();
  const transact = api.deps.db.transaction.bind(api.deps.db);
  const lose: typeof transact = async (run) => {
    await transact(run);
    throw new Error("the connection was lost");
  };
  vi.spyOn(api.deps.db, "transaction").mockImplementationOnce(transact).mockImplementationOnce(lose);
  const issued = issueKubeconfig(
    withSigner(async () => undefined),
    asAuthorized(author),
    cluster,
    wanted,
  );
  await expect(issued).rejects.toThrow("lost");
  expect(await readOutcome(wanted.id)).toMatchObject({ isHeld: false, intents: 0 });
});

test("an access whose name another one has is 409 to try again, and leaves nothing", async () => {
  const { access } = await issueKubeconfig(
    withSigner(async () => undefined),
    asAuthorized(author),
    cluster,
    request(),
  );
  const wanted = request();
  const { kube } = api.deps;
  const create = (kind: typeof clusterAccessKind, { metadata, ...object }: ClusterAccess, options: never) =>
    kube.create(kind, { ...object, metadata: { ...metadata, name: access.metadata.name } }, options);
  const deps = { ...api.deps, kube: { ...kube, create } as unknown as Deps["kube"] };
  await expect(issueKubeconfig(deps, asAuthorized(author), cluster, wanted)).rejects.toMatchObject({
    code: "conflict",
    retryAfterSeconds: 1,
  });
  expect(await readOutcome(wanted.id)).toEqual({ audited: [], isHeld: false, intents: 0 });
});

test("a right that ends before the request is recorded creates no access; one that ends while it is signed leaves none", async () => {
  for (const confirmations of [0, 1]) {
    const wanted = request();
    let confirmed = 0;
    const confirm = async () => {
      if (confirmed === confirmations) throw new ApiError("forbidden", "The right has ended.");
      confirmed += 1;
    };
    let isCreated = false;
    const deps = withSigner(async ({ metadata }) => {
      isCreated ||= metadata.labels?.[LABEL_ID] === wanted.id;
    });
    await expect(
      issueKubeconfig(deps, { author, confirm, request: undefined }, cluster, wanted),
    ).rejects.toMatchObject({ code: "forbidden" });
    expect(isCreated).toBe(confirmations === 1);
    await sweepIntents(wanted.id);
    expect(await readOutcome(wanted.id)).toEqual({ audited: [], isHeld: false, intents: 0 });
  }
});
