import { createHash, randomBytes } from "node:crypto";
import postgres from "postgres";
import { afterAll, expect } from "vitest";
import type { Stack } from "../platform/stack/stack.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { startSecondApiserver } from "../testing/second-apiserver.ts";
import { createTenant, expectStatus, type Tenant } from "../testing/tenant.ts";
import { callUntilAnswered } from "./held-lock.ts";
import { DIR, test } from "./shared-stack.ts";

const BYTES = randomBytes(1000);
/** It is built while the stack starts, some minutes at the first run. */
const OBJECT_STORE_MS = 900_000;

let stack: Stack;
let alice: Tenant;
let sql: postgres.Sql;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
  alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
  sql = postgres(stack.info.databaseUrl, { max: 2, onnotice: () => undefined });
  await waitFor("the object store", () => fetch(stack.info.objectStore.endpoint), {
    timeoutMs: OBJECT_STORE_MS,
  });
});

afterAll(() => sql?.end());

/** Opens a ticket and uploads an attachment that is not completed. */
async function uploadAttachment() {
  const { id: orgID } = expectStatus(
    201,
    await alice.call("createOrganization", { body: { name: "Attachments" } }),
  );
  const ticket = {
    subject: "Nodes do not start",
    category: "cluster",
    severity: "low",
    body: "See.",
  } as const;
  const { id: ticketID } = expectStatus(201, await alice.call("createTicket", { orgID, body: ticket }));
  const file = {
    filename: "nodes.png",
    content_type: "image/png" as const,
    size_bytes: BYTES.length,
    sha256: createHash("sha256").update(BYTES).digest("hex"),
  };
  const place = { orgID, ticketID };
  // The API server may have found the store missing a moment ago.
  const { id: attachmentID, upload } = await waitFor("the store of attachments", async () =>
    expectStatus(201, await alice.call("createTicketAttachment", { ...place, body: file })),
  );
  const { "Content-Length": _, ...headers } = upload.headers;
  const { status } = await fetch(upload.url, { method: "PUT", headers, body: new Uint8Array(BYTES) });
  expect(status).toBe(200);
  return { ...place, attachmentID };
}

/** Kills a replica that completes an attachment when it has copied the object and waits for the ticket's row. */
async function killBetweenCopyAndCommit(place: Awaited<ReturnType<typeof uploadAttachment>>): Promise<void> {
  const replica = await startSecondApiserver(DIR);
  const caller = createTenant(replica.url, stack.info.tokens.alice);
  await sql.begin(async (tx) => {
    await tx`select 1 from tickets where id = ${place.ticketID} for update`;
    const [{ pid: own } = { pid: 0 }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const completed = callUntilAnswered(() => caller.call("completeTicketAttachment", place));
    await waitFor(
      "the completion to wait",
      async () => (await sql`select 1 from pg_locks where ${own} = any(pg_blocking_pids(pid))`).length > 0,
    );
    replica.signal("SIGKILL");
    await replica.exited;
    expect(await completed).toBe("broken off");
  });
}

test("an API server killed between the copy of an attachment and its commit loses no message and binds nothing twice", async () => {
  const place = await uploadAttachment();
  const { orgID, ticketID, attachmentID } = place;
  await killBetweenCopyAndCommit(place);

  const write = () =>
    alice.call("createTicketMessage", {
      orgID,
      ticketID,
      body: { body: "With it.", attachment_ids: [attachmentID] },
    });
  expect((await write()).status).toBe(422);
  expectStatus(200, await alice.call("completeTicketAttachment", place));
  expectStatus(201, await write());
  expect((await write()).status).toBe(422);

  const messages = expectStatus(200, await alice.call("listTicketMessages", { orgID, ticketID }));
  expect(messages.items.map(({ body }) => body)).toEqual(["See.", "With it."]);
  const download = await fetch(
    `${stack.info.apiUrl}/api/v1/organizations/${orgID}/tickets/${ticketID}/attachments/${attachmentID}`,
    { headers: { authorization: `Bearer ${stack.info.tokens.alice}` } },
  );
  expect(Buffer.from(await download.arrayBuffer()).equals(BYTES)).toBe(true);
});
