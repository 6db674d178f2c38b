import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readStack, waitFor } from "../platform/stack/testing.ts";
import { createEngineer, type Engineer, machineKind } from "../testing/custom-resources.ts";
import { createTenant } from "../testing/tenant.ts";

/** How often each field is changed; `npm run test:status` raises it. */
const ROUNDS = Number(process.env.MARINA_STATUS_ROUNDS ?? 2);
const POLL_MS = 200;
const ROUND_TIMEOUT_MS = 600_000;
/** Cluster API does not drain a machine that is deleted while it has this annotation. */
const HOLD_MACHINE = "pre-drain.delete.hook.machine.cluster.x-k8s.io/pool-status";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
let engineer: Engineer;
let cluster: string;

type Machines = Awaited<ReturnType<typeof listMachines>>;

interface Field {
  field: string;
  /** The value of a round; two rounds in a row differ. */
  chooseValue: (round: number) => unknown;
  /** The machines are replaced when the field changes. */
  replaces?: true;
  /** Fails unless what the field asks for is there. */
  verify: (machines: Machines, before: Machines, value: unknown) => void;
}

const uidsOf = (machines: Machines) => new Set(machines.map(({ metadata }) => metadata.uid));
const expectKept = (machines: Machines, before: Machines) => expect(uidsOf(machines)).toEqual(uidsOf(before));
const expectReplaced = (machines: Machines, before: Machines) =>
  expect([...uidsOf(machines)].filter((uid) => uidsOf(before).has(uid))).toEqual([]);

const FIELDS: readonly Field[] = [
  {
    field: "desired_nodes",
    chooseValue: (round) => 2 - (round % 2),
    verify: (machines, _, value) => expect(machines).toHaveLength(Number(value)),
  },
  {
    field: "node_labels",
    chooseValue: (round) => ({ tier: `tier-${round}` }),
    verify(machines, before, value) {
      expectKept(machines, before);
      for (const { metadata } of machines) expect(metadata.labels).toMatchObject(value as object);
    },
  },
  {
    field: "drain_timeout_seconds",
    chooseValue: (round) => 30 + round,
    verify(machines, before, value) {
      expectKept(machines, before);
      for (const { spec } of machines) expect(spec.deletion?.nodeDrainTimeoutSeconds).toBe(value);
    },
  },
  { field: "max_nodes", chooseValue: (round) => 5 + (round % 2), verify: expectKept },
  { field: "vcpus", chooseValue: (round) => 3 + (round % 2), replaces: true, verify: expectReplaced },
  { field: "memory_gb", chooseValue: (round) => 6 + (round % 2), replaces: true, verify: expectReplaced },
  { field: "disk_gb", chooseValue: (round) => 30 + (round % 2), replaces: true, verify: expectReplaced },
  { field: "name", chooseValue: (round) => `name ${round}`, verify: expectKept },
];

beforeAll(async () => {
  const { body: organization } = await alice.request("POST", "/organizations", { name: "Status" });
  engineer = await createEngineer(stack, organization.id);
  const path = `/organizations/${organization.id}/clusters`;
  const node_pools = FIELDS.map(({ field }) => ({
    name: field.replaceAll("_", "-"),
    vcpus: 2,
    memory_gb: 4,
    disk_gb: 20,
    desired_nodes: 1,
    min_nodes: 0,
    max_nodes: 10,
  }));
  const { body } = await alice.request("POST", path, { name: "status", k8s_version: "1.34.2", node_pools });
  cluster = `${path}/${body.id}`;
  await waitFor("all pools to be ready", async () => {
    const { body: pools } = await alice.request("GET", `${cluster}/nodepools?limit=100`);
    return pools.items?.every(({ status }: { status: string }) => status === "ready") || undefined;
  });
});

afterAll(() => engineer?.close());

describe.concurrent("ready is answered only when the change is there", () => {
  test.each(FIELDS)(
    "of $field",
    { timeout: ROUNDS * ROUND_TIMEOUT_MS },
    async ({ field, chooseValue, replaces, verify }) => {
      const { body: list } = await alice.request("GET", `${cluster}/nodepools?limit=100`);
      const own = list.items.find(({ name }: { name: string }) => name === field.replaceAll("_", "-"));
      const pool = `${cluster}/nodepools/${own.id}`;
      for (let round = 0; round < ROUNDS; round++) {
        const before = await listMachines(field);
        const value = chooseValue(round);
        if (replaces) await annotateMachines(before, { [HOLD_MACHINE]: "" });
        const written = await alice.request("PUT", pool, { [field]: value });
        expectUnderWay(written.body);
        if (replaces) {
          await waitFor("the old nodes to be replacing", async () => {
            const replacing = await listReplacing(pool);
            return before.every(({ metadata }) => replacing.includes(metadata.uid ?? ""));
          });
          expectUnderWay((await alice.request("GET", pool)).body);
          await annotateMachines(before, { [HOLD_MACHINE]: null });
        }
        const { record, replacing } = await pollUntilReady(pool);
        expect(replaces ? new Set() : replacing).toEqual(new Set());
        expect(await listReplacing(pool)).toEqual([]);
        expect(record).toMatchObject({ [field]: value, status_message: null });
        expect(record.observed_generation).toBe(record.generation);
        const machines = await listMachines(field);
        verify(machines, before, value);
        expect(record).toMatchObject({ ready_nodes: machines.length, current_nodes: machines.length });
      }
    },
  );
});

/** Annotates each old machine; one that is deleted already fails the test. */
async function annotateMachines(machines: Machines, annotations: object): Promise<void> {
  for (const { metadata } of machines) {
    const patch = { metadata: { annotations } };
    await engineer.client.mergePatch(machineKind, metadata.namespace, metadata.name, patch, {
      fieldManager: "pool-status",
    });
  }
}

function expectUnderWay(record: { status: string; status_message: string | null }): void {
  expect(record.status).toBe("scaling");
  expect(record.status_message).toEqual(expect.any(String));
}

/**
 * Asks again and again from the first moment; every answer before `ready` says what is under way. Returns the record
 * and the nodes (by id) that were replacing before it.
 */
async function pollUntilReady(path: string) {
  const until = performance.now() + ROUND_TIMEOUT_MS;
  const replacing = new Set<string>();
  while (performance.now() < until) {
    const { status, body } = await alice.request("GET", path);
    if (status === 200 && body.status === "ready") return { record: body, replacing };
    if (status === 200) expectUnderWay(body);
    for (const id of await listReplacing(path)) replacing.add(id);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${path} is not ready`);
}

/** The ids of the nodes that are replacing. */
async function listReplacing(path: string): Promise<string[]> {
  const { body } = await alice.request("GET", `${path}/nodes?limit=100`);
  const nodes: { id: string; replacing: boolean }[] = body.items;
  return nodes.filter((node) => node.replacing).map(({ id }) => id);
}

/** The machines of the pool that was created for a field, with their states at Cluster API. */
async function listMachines(field: string) {
  const machines = await engineer.client.listAll(machineKind, { namespace: engineer.namespace });
  const name = field.replaceAll("_", "-");
  return machines.filter(({ metadata }) =>
    metadata.labels?.["topology.cluster.x-k8s.io/deployment-name"]?.startsWith(`${name}-`),
  );
}
