import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eq, sql } from "drizzle-orm";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TestOrganization } from "../../testing/issuer.ts";
import { moveUpload } from "./changes.ts";
import type { AttachmentStorage } from "./config.ts";
import { attachmentJobs } from "./jobs.ts";
import { createObjectStore } from "./objects/object-store.ts";
import { ticketAttachments } from "./table.ts";
import { setUpAttachments, testStorage } from "./testing.ts";

const { api, openTicket } = setUpAttachments();

const withStorage = (attachmentStorage: AttachmentStorage) => ({
  ...api.deps,
  config: { ...api.deps.config, attachmentStorage },
});

async function sweep(storage = testStorage()): Promise<void> {
  for (const job of attachmentJobs(withStorage(storage))) await job.run(new AbortController().signal);
}

/** As if it had been announced so many hours ago. */
const age = (id: string, hours = 2) =>
  api.deps.db
    .update(ticketAttachments)
    .set({ createdAt: sql`now() - make_interval(hours => ${hours})` })
    .where(eq(ticketAttachments.id, id));

const readRow = async (id: string) => {
  const [row] = await api.deps.db.select().from(ticketAttachments).where(eq(ticketAttachments.id, id));
  return row;
};

/** Which objects of an attachment the store has. */
async function findObjects(org: TestOrganization, ticketId: string, id: string): Promise<string[]> {
  const store = createObjectStore(testStorage(), () => new Date());
  const prefixes = ["quarantine", "attachments"];
  const found = await Promise.all(
    prefixes.map((prefix) => store.head(`${prefix}/${org.id}/${ticketId}/${id}`)),
  );
  return prefixes.filter((_, index) => found[index] !== undefined);
}

describe("the sweeper", () => {
  test("removes what no message took within an hour, completed or not, and nothing younger", async () => {
    const { org, ticketId, desk } = await openTicket();
    const [young, uploaded, completed] = [
      await desk.attach(randomBytes(10)),
      await desk.upload(randomBytes(10)),
      await desk.attach(randomBytes(10)),
    ];
    await Promise.all([uploaded, completed].map((id) => age(id)));
    await sweep();
    expect((await desk.send("GET")).body.items).toMatchObject([{ id: young }]);
    expect(await findObjects(org, ticketId, young)).toEqual(["quarantine", "attachments"]);
    for (const id of [uploaded, completed]) {
      expect(await findObjects(org, ticketId, id)).toEqual([]);
      expect(await readRow(id)).toMatchObject({ uploadRemoved: true });
      expect((await desk.send("POST", `/${id}/complete`)).status).toBe(404);
      expect((await desk.write({ body: "Late.", attachment_ids: [id] })).status).toBe(422);
    }
  });

  test("removes the uploaded object of what a message has, once, and leaves the final one", async () => {
    const { org, ticketId, desk } = await openTicket();
    const id = await desk.attach(randomBytes(10));
    await desk.write({ body: "See this.", attachment_ids: [id] });
    await age(id);
    await sweep();
    expect(await findObjects(org, ticketId, id)).toEqual(["attachments"]);
    expect(await readRow(id)).toMatchObject({ uploadRemoved: true });
    const { headers } = await desk.send("GET", `/${id}`);
    expect((await fetch(headers.get("location") ?? "")).status).toBe(200);
  });

  test("counts what it has removed in the limit of a day, until that is over", async () => {
    const { org, desk } = await openTicket();
    const id = await desk.upload(randomBytes(10));
    const path = `/api/v1/organizations/${org.id}/quotas`;
    const countAnnounced = async () => {
      const { body } = await api.request("GET", path, { token: org.owner.token });
      const stores: { name: string; used: number }[] = body.stores;
      return stores.find(({ name }) => name === "attachments_per_day")?.used;
    };
    await age(id, 23);
    await sweep();
    expect(await countAnnounced()).toBe(1);
    await age(id, 25);
    await sweep();
    expect([await countAnnounced(), await readRow(id)]).toEqual([0, undefined]);
  });

  test("leaves no object of a completion that ended between the copy and the commit", async () => {
    const { org, ticketId, desk } = await openTicket();
    const id = await desk.upload(randomBytes(10));
    const row = await readRow(id);
    if (row === undefined) throw new Error("no row");
    const store = createObjectStore(testStorage(), () => new Date());
    await moveUpload((work) => work(store), row);
    expect(await findObjects(org, ticketId, id)).toEqual(["quarantine", "attachments"]);
    await age(id);
    await sweep();
    expect(await findObjects(org, ticketId, id)).toEqual([]);
  });

  test("tries each object, also behind one that the store refuses to remove, and fails with that refusal", async () => {
    const { desk } = await openTicket();
    const unbound = [await desk.upload(randomBytes(10)), await desk.upload(randomBytes(10))];
    const bound = [await desk.attach(randomBytes(10)), await desk.attach(randomBytes(10))];
    await desk.write({ body: "See these.", attachment_ids: bound });
    const locked = new Set([unbound[0], bound[0]]);
    for (const id of [...unbound, ...bound]) await age(id, locked.has(id) ? 3 : 2);
    const server = createServer(({ url = "" }, response) => {
      const isLocked = [...locked].some((id) => id !== undefined && url.includes(id));
      response.writeHead(isLocked ? 403 : url.endsWith("/marina") ? 200 : 204).end();
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const job of attachmentJobs(withStorage(testStorage({ endpoint }))))
      await expect(job.run(new AbortController().signal)).rejects.toThrow("refuses");
    const removed = await Promise.all(
      [...unbound, ...bound].map(async (id) => (await readRow(id))?.uploadRemoved),
    );
    expect(removed).toEqual([false, true, false, true]);
  });

  test("has nothing taken that it is about to remove: while the store is down nothing is lost, and later all is removed", async () => {
    const { org, ticketId, desk } = await openTicket();
    const id = await desk.attach(randomBytes(10));
    await age(id);
    await expect(sweep(testStorage({ endpoint: "http://127.0.0.1:9" }))).rejects.toThrow("cannot be reached");
    expect((await desk.write({ body: "Late.", attachment_ids: [id] })).status).toBe(422);
    expect((await desk.send("GET")).body.items).toEqual([]);
    expect(await findObjects(org, ticketId, id)).toHaveLength(2);
    await sweep();
    expect(await findObjects(org, ticketId, id)).toEqual([]);
  });
});
