import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { isTestFile, listSourceFiles } from "../../../e2e/checks/architecture/imports.ts";
import { unlessToRetry, waitFor, waitForObjectStore } from "../../../e2e/platform/stack/testing.ts";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../../shared/crd/cluster-access.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { createId } from "../../../shared/program/id.ts";
import { keepSigned, makeReady, reportReady } from "../../cluster-accesses/testing.ts";
import { MACHINE, projectMachines, serveMachines } from "../../node-pools/nodes/testing.ts";
import {
  pushToHarbor,
  ROBOT,
  startTestHarbor,
  type TestHarbor,
} from "../../registry/backend/testing-harbor.ts";
import type { TestApp } from "../../testing/app.ts";
import {
  makeOrganization,
  type Person,
  type TestIssuer,
  type TestOrganization,
} from "../../testing/issuer.ts";
import { startTestService } from "../../testing/service.ts";
import { describeFile, openDesk, testStorage } from "../../tickets/attachments/testing.ts";
import { createTicketRequests } from "../../tickets/testing.ts";

let harbor: TestHarbor;
let issuer: TestIssuer;
let api: TestApp;
let staff: Person;
const made: { path: string; token: string }[] = [];

beforeAll(async () => {
  await waitForObjectStore();
  harbor = await startTestHarbor();
  const limits = { sizeGiB: undefined, tags: undefined };
  const registry = { kind: "harbor", url: harbor.url, host: "harbor.example.com", limits, ...ROBOT } as const;
  ({ api, issuer } = await startTestService({ attachmentStorage: testStorage(), registry }));
  staff = await issuer.createStaff();
});
afterAll(async () => {
  for (const { path, token } of made) await api.request("DELETE", path, { token });
  await api.close();
  await harbor.close();
});

/** A POST whose effect and response are no one transaction. */
interface Case {
  path: string;
  token: string;
  body?: object;
  headers?: Record<string, string>;
  /** Before each request. */
  prepare?: () => Promise<unknown>;
  /** The action of its audit row; undefined: it has none. */
  action?: string;
  readEffect: () => Promise<unknown>;
  /** What refuses the same effect a second time. */
  meanwhile?: () => Promise<unknown>;
  /** Its response is lost with the secret in it: a repeated request makes what is lost anew, in its place. */
  isSecret?: boolean;
}

const POOL = { name: "general", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };
const CLUSTER = { name: "Lost", k8s_version: "1.34" };

async function makeCluster(org: TestOrganization) {
  const { token } = org.owner;
  const { status, body } = await api.request("POST", `${org.path}/clusters`, { token, body: CLUSTER });
  if (status !== 202) throw new Error(`no cluster: ${JSON.stringify(body)}`);
  const path = `${org.path}/clusters/${body.id}`;
  made.push({ path, token });
  return { id: body.id as string, path, token };
}

async function readClusters({ id }: TestOrganization): Promise<Cluster[]> {
  return api.deps.kube.listAll(clusterKind, { namespace: `org-${id}` });
}

async function makeRunningCluster(org: TestOrganization) {
  const cluster = await makeCluster(org);
  await waitFor("the cluster to run", async () => {
    const [live] = await readClusters(org);
    return live?.status?.phase === "Ready" && live.status.version;
  });
  const { path, token } = cluster;
  const renamed = await api.request("PUT", path, { token, body: { name: "Running" } });
  return { ...cluster, etag: renamed.headers.get("etag") ?? "" };
}

async function makeTicket(org: TestOrganization) {
  const requests = createTicketRequests(api, staff);
  const ticketId = await requests.open(org);
  return { ticketId, meanwhile: () => requests.send(org, "PUT", `/${ticketId}`, { status: "closed" }) };
}

async function readAttachments(ticketId: string) {
  return api.deps.sql`select id, completed_at from ticket_attachments where ticket_id = ${ticketId}`;
}

/** The attachments of a ticket, for its organization's owner or for the staff. */
async function announce(org: TestOrganization, by: "owner" | "staff"): Promise<Case> {
  const { ticketId, meanwhile } = await makeTicket(org);
  const person = by === "owner" ? org.owner : staff;
  const { path } = openDesk(api, ticketId, person, by === "owner" ? org : undefined);
  const body = describeFile(randomBytes(10));
  return { path, token: person.token, body, meanwhile, readEffect: () => readAttachments(ticketId) };
}

async function complete(org: TestOrganization, by: "owner" | "staff"): Promise<Case> {
  const { ticketId, meanwhile } = await makeTicket(org);
  const person = by === "owner" ? org.owner : staff;
  const desk = openDesk(api, ticketId, person, by === "owner" ? org : undefined);
  const path = `${desk.path}/${await desk.upload(randomBytes(10))}/complete`;
  const readEffect = () => readAttachments(ticketId);
  return { path, token: person.token, action: "ticket.add_attachment", meanwhile, readEffect };
}

const CASES: Record<string, (org: TestOrganization) => Promise<Case>> = {
  async createCluster(org) {
    const path = `${org.path}/clusters`;
    const readEffect = async () => (await readClusters(org)).map(({ metadata }) => metadata.uid);
    return { path, token: org.owner.token, body: CLUSTER, action: "cluster.create", readEffect };
  },
  async createNodePool(org) {
    const { path, token } = await makeCluster(org);
    const readEffect = async () => {
      const pools = await api.deps.kube.listAll(nodePoolKind, { namespace: `org-${org.id}` });
      return pools.map(({ metadata }) => metadata.uid);
    };
    const body = { ...POOL, name: "second" };
    return { path: `${path}/nodepools`, token, body, action: "node_pool.create", readEffect };
  },
  async issueKubeconfig(org) {
    const { id, path, token } = await makeCluster(org);
    const { namespace } = await makeReady(api.deps, org.id, id);
    const done = new AbortController();
    const signed = keepSigned(api.deps, namespace, org.owner.userId, done.signal);
    onTestFinished(async () => {
      done.abort();
      await signed;
    });
    const readEffect = async () => {
      const accesses = await api.deps.kube.listAll(clusterAccessKind, { namespace });
      return accesses.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
    };
    const prepare = () => reportReady(api.deps, org.id, id);
    return {
      path: `${path}/kubeconfig`,
      token,
      body: { ttl_seconds: 600 },
      prepare,
      isSecret: true,
      readEffect,
    };
  },
  async replaceNode(org) {
    const { id, path, token } = await makeCluster(org);
    const pools = `${path}/nodepools`;
    const { body: made } = await api.request("POST", pools, { token, body: { ...POOL, name: "second" } });
    let machines = [MACHINE];
    serveMachines(api, () => machines);
    const prepare = () => projectMachines(api, { orgId: org.id, clusterId: id, id: made.id }, machines);
    return {
      path: `${pools}/${made.id}/nodes/node-1/replace`,
      token,
      prepare,
      action: "node.replace",
      meanwhile: async () => {
        machines = [];
      },
      readEffect: async () => undefined,
    };
  },
  async upgradeCluster(org) {
    const { path, token, etag } = await makeRunningCluster(org);
    const readEffect = async () => (await readClusters(org)).map(({ spec }) => spec.version);
    const [body, headers] = [{ target_version: "1.35" }, { "if-match": etag }];
    return { path: `${path}/upgrade`, token, body, headers, action: "cluster.upgrade", readEffect };
  },
  async rotateCredentials(org) {
    const cluster = await makeCluster(org);
    const { token } = cluster;
    const path = `${cluster.path}/credentials/rotate`;
    const { headers: current } = await api.request("GET", cluster.path, { token });
    const headers = { "if-match": current.get("etag") ?? "" };
    const meanwhile = () => api.request("POST", path, { token });
    const readEffect = async () => (await readClusters(org)).map(({ spec }) => spec.credentialsGeneration);
    return { path, token, headers, action: "cluster.rotate_credentials", meanwhile, readEffect };
  },
  async requestTagScan(org) {
    const digest = await pushToHarbor(harbor, org.id);
    const setReport = (day: string) =>
      harbor.scans.set(digest, {
        status: "Success",
        endTime: `2026-05-${day}T12:00:00Z`,
        vulnerabilities: [],
      });
    setReport("01");
    return {
      path: `${org.path}/registry/repositories/web/tags/1/scan`,
      token: org.owner.token,
      action: "registry_scan.request",
      meanwhile: async () => setReport("02"),
      readEffect: async () => harbor.scans.get(digest),
    };
  },
  createTicketAttachment: (org) => announce(org, "owner"),
  createAdminTicketAttachment: (org) => announce(org, "staff"),
  completeTicketAttachment: (org) => complete(org, "owner"),
  completeAdminTicketAttachment: (org) => complete(org, "staff"),
};

/** What it runs so is its dry run, which has no effect and keeps no key: see billing/invoices/jobs.int.test.ts. */
const ELSEWHERE = ["closeMonth"];

async function countAudits(action: string | undefined): Promise<number> {
  const [row] = await api.deps.sql`
    select count(*)::int as n from audit_log where action = ${action ?? ""} and result = 'done'`;
  return row?.n;
}

/** What a process leaves that ends before it has stored its response. */
async function loseResponse(key: string): Promise<void> {
  const lost = await api.deps.sql`
    update idempotency_keys set status = null, headers = null, body = null, lease_expires_at = now()
    where key = ${key} and status < 300 returning key`;
  expect(lost).toHaveLength(1);
}

test.each(Object.entries(CASES))(
  "%s is carried out once when its response is lost, and its repetition gets that of the first",
  async (_operationId, make) => {
    const { path, token, body, headers, prepare, action, readEffect, meanwhile, isSecret } = await make(
      await makeOrganization(api, issuer),
    );
    const key = createId();
    const send = async () => {
      await prepare?.();
      return api.request("POST", path, {
        token,
        headers: { ...headers, "idempotency-key": key },
        ...(body === undefined ? {} : { body }),
      });
    };
    const sendUntilConfirmed = () => waitFor("a response", async () => unlessToRetry(await send()));
    const before = await countAudits(action);
    const first = await sendUntilConfirmed();
    expect(first).toMatchObject({ status: expect.toSatisfy((status: number) => status < 300) });
    expect(await countAudits(action)).toBe(action === undefined ? before : before + 1);

    await loseResponse(key);
    await meanwhile?.();
    const settled = [await readEffect(), await countAudits(action)];
    const again = await sendUntilConfirmed();
    expect([again.status, again.body.error]).toEqual([first.status, undefined]);
    expect([await readEffect(), await countAudits(action)]).toEqual(settled);
    if (isSecret === true) return;
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    const identify = ({ body: record }: typeof first) => record.id ?? record.cluster?.id ?? record.name;
    expect(identify(again)).toBe(identify(first));
    const replay = await send();
    expect(replay.headers.get("idempotency-replayed")).toBe("true");
  },
);

test("every POST with an effect outside a transaction is among these", () => {
  const root = join(import.meta.dirname, "..", "..", "..");
  const sources = listSourceFiles(root, ["apiserver"]).filter((file) => !isTestFile(file));
  const routes = sources.flatMap((file) =>
    readFileSync(join(root, file), "utf8").split("addRoute(").slice(1),
  );
  const found = routes
    .filter((route) => route.includes("return runOnce("))
    .map((route) => /operationId: "(\w+)"/.exec(route)?.[1]);
  expect(new Set(found)).toEqual(new Set([...Object.keys(CASES), ...ELSEWHERE]));
});
