import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { addPerson, makeOrganization, type TestOrganization } from "../../testing/issuer.ts";
import { type AttachmentDesk, describeFile, openDesk, setUpAttachments, uploadTo } from "./testing.ts";

const { api, issuer, staff, requests } = setUpAttachments();

interface Place {
  org: TestOrganization;
  ticketId: string;
  tenant: AttachmentDesk;
  provider: AttachmentDesk;
}

async function openPlace(): Promise<Place> {
  const org = await makeOrganization(api, issuer);
  const ticketId = await requests.open(org);
  return {
    org,
    ticketId,
    tenant: openDesk(api, ticketId, org.owner, org),
    provider: openDesk(api, ticketId, staff),
  };
}

const bytesOf = (size = 1000): Buffer => randomBytes(size);
/** How long an address of the store is valid. */
const secondsOf = (url: string): number => Number(new URL(url).searchParams.get("X-Amz-Expires"));

describe("an attachment", () => {
  test.each([
    ["image/png", "nodes ü.png"],
    ["text/html", "page.html"],
    ["image/svg+xml", "drawing.svg"],
  ])("of type %s goes through the store to both sides, as a download", async (content_type, filename) => {
    const { tenant, provider } = await openPlace();
    const bytes = bytesOf();
    const announced = await tenant.send("POST", "", describeFile(bytes, { content_type, filename }));
    expect(announced).toMatchObject({
      status: 201,
      body: { message_id: null, completed_at: null, filename, content_type, size_bytes: 1000 },
    });
    const { upload, id } = announced.body;
    expect(announced.headers.get("location")).toBe(`${tenant.path}/${id}`);
    expect(secondsOf(upload.url)).toBe(15 * 60);
    expect(await uploadTo(upload, bytes)).toBe("200");
    const completed = await tenant.send("POST", `/${id}/complete`);
    expect(completed).toMatchObject({ status: 200, body: { id, completed_at: expect.any(String) } });
    const written = await tenant.write({ body: "See this.", attachment_ids: [id] });
    expect(written.status).toBe(201);

    for (const desk of [tenant, provider]) {
      const { body } = await desk.send("GET");
      expect(body.items).toMatchObject([{ id, message_id: written.body.id, filename }]);
      const redirect = await desk.send("GET", `/${id}`);
      expect([redirect.status, redirect.body]).toEqual([302, ""]);
      expect(redirect.headers.get("cache-control")).toBe("no-store");
      const location = redirect.headers.get("location") ?? "";
      expect(secondsOf(location)).toBe(60);
      const file = await fetch(location);
      expect(Buffer.from(await file.arrayBuffer())).toEqual(bytes);
      expect(file.headers.get("content-type")).toBe("application/octet-stream");
      expect(file.headers.get("content-disposition")).toMatch(/^attachment; filename=/);
    }
  });

  test("of the staff reaches the tenant with its message, and not before", async () => {
    const { tenant, provider } = await openPlace();
    const id = await provider.attach(bytesOf());
    expect((await tenant.send("GET")).body.items).toEqual([]);
    expect((await tenant.send("GET", `/${id}`)).status).toBe(404);
    expect((await provider.write({ body: "Run this.", attachment_ids: [id] })).status).toBe(201);
    expect((await tenant.send("GET", `/${id}`)).status).toBe(302);
  });

  test("has one record and one upload per Idempotency-Key", async () => {
    const { tenant } = await openPlace();
    const send = () => tenant.send("POST", "", describeFile(bytesOf(5)), { "idempotency-key": "one" });
    const bytes = bytesOf();
    const body = describeFile(bytes);
    const [first, second] = [
      await tenant.send("POST", "", body, { "idempotency-key": "two" }),
      await tenant.send("POST", "", body, { "idempotency-key": "two" }),
    ];
    expect(second.body).toEqual(first.body);
    expect((await tenant.send("GET")).body.items).toHaveLength(1);
    expect((await send()).status).toBe(201);
  });

  test("is in the audit log of the organization once it is completed", async () => {
    const { tenant, ticketId } = await openPlace();
    const id = await tenant.attach(bytesOf());
    await tenant.write({ body: "See this.", attachment_ids: [id] });
    const audit = await requests.readAudit(ticketId);
    expect(audit.map(({ action, after }) => [action, after])).toMatchObject([
      ["ticket.create", {}],
      ["ticket.add_attachment", { attachment_id: id, filename: "screenshot.png", size_bytes: 1000 }],
      ["ticket.add_message", { attachment_ids: [id] }],
    ]);
  });
});

describe("an announcement", () => {
  test.each([
    ["../../etc/passwd", "invalid_format"],
    ["a\\b.txt", "invalid_format"],
    ["..", "invalid_format"],
    ["\r\nX: y", "invalid_format"],
    ["bill\u202Efdp.exe", "invalid_format"],
    ["a\u200Bb", "invalid_format"],
    ["   ", "invalid_format"],
    ["x".repeat(300), "too_long"],
    ["", "too_short"],
  ])("with the name %j is 422 filename/%s", async (filename, code) => {
    const { tenant } = await openPlace();
    const { status, body } = await tenant.send("POST", "", describeFile(bytesOf(), { filename }));
    expect([status, body.error.details]).toMatchObject([422, [{ field: "filename", code }]]);
  });

  test.each([
    [{ content_type: "application/x-msdownload" }, "content_type", "invalid_enum"],
    [{ size_bytes: 0 }, "size_bytes", "out_of_range"],
    [{ size_bytes: 25 * 1024 * 1024 + 1 }, "size_bytes", "out_of_range"],
    [{ sha256: "A".repeat(64) }, "sha256", "invalid_format"],
    [{ key: "elsewhere" }, "key", "unknown_field"],
  ])("with %j is 422 %s/%s", async (changes, field, code) => {
    const { tenant } = await openPlace();
    const { status, body } = await tenant.send("POST", "", describeFile(bytesOf(), changes));
    expect([status, body.error.details]).toMatchObject([422, [{ field, code }]]);
  });

  test("and a completion in a closed ticket are 409, a download is not", async () => {
    const { tenant, provider, ticketId } = await openPlace();
    const [kept, late] = [await tenant.attach(bytesOf()), await tenant.upload(bytesOf())];
    await tenant.write({ body: "See this.", attachment_ids: [kept] });
    await requests.move(ticketId, "closed");
    for (const desk of [tenant, provider])
      expect((await desk.send("POST", "", describeFile(bytesOf()))).status).toBe(409);
    expect((await tenant.send("POST", `/${late}/complete`)).body.error.code).toBe("conflict");
    expect((await tenant.send("GET", `/${kept}`)).status).toBe(302);
  });
});

describe("a message takes no attachment", () => {
  test("that is not completed, of somebody else, of another ticket, in a message already, or unknown: 422", async () => {
    const { org, tenant, provider, ticketId } = await openPlace();
    const member = await issuer.createPerson();
    await addPerson(api.deps, org.id, member, "member");
    const bound = await tenant.attach(bytesOf());
    expect((await tenant.write({ body: "See this.", attachment_ids: [bound] })).status).toBe(201);
    const refused = [
      await tenant.upload(bytesOf()),
      await openDesk(api, ticketId, member, org).attach(bytesOf()),
      await provider.attach(bytesOf()),
      await openDesk(api, await requests.open(org), org.owner, org).attach(bytesOf()),
      bound,
      "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
    ];
    const own = await tenant.attach(bytesOf());
    const { status, body } = await tenant.write({ body: "And these.", attachment_ids: [own, ...refused] });
    expect(status).toBe(422);
    expect(
      body.error.details.map(({ field, code }: { field: string; code: string }) => [field, code]),
    ).toEqual(refused.map((_, index) => [`attachment_ids[${index + 1}]`, "not_found"]));
    const messages = (await requests.send(org, "GET", `/${ticketId}/messages`)).body.items;
    expect(messages).toHaveLength(2);
    expect((await tenant.write({ body: "And this.", attachment_ids: [own] })).status).toBe(201);
  });

  test("that is named twice, and no more than 10: 422", async () => {
    const { tenant } = await openPlace();
    const id = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
    const twice = await tenant.write({ body: "Twice.", attachment_ids: [id, id] });
    expect(twice.body.error.details).toMatchObject([{ field: "attachment_ids[1]", code: "duplicate" }]);
    const many = await tenant.write({ body: "Many.", attachment_ids: Array.from({ length: 11 }, () => id) });
    expect(many.body.error.details[0]).toMatchObject({ field: "attachment_ids", code: "too_many" });
  });

  test("that another one takes at the same time: of 20 writers one has it", async () => {
    const { org, tenant, ticketId } = await openPlace();
    const id = await tenant.attach(bytesOf());
    const writers = Array.from({ length: 20 }, () => tenant.write({ body: "Mine.", attachment_ids: [id] }));
    const statuses = (await Promise.all(writers)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, ...Array.from({ length: 19 }, () => 422)]);
    const { items } = (await requests.send(org, "GET", `/${ticketId}/messages`)).body;
    expect(items).toHaveLength(2);
    expect((await tenant.send("GET")).body.items).toMatchObject([{ id, message_id: items[1].id }]);
  });
});

test("an upload that has not been completed cannot be downloaded: 409 for its uploader", async () => {
  const { tenant, provider } = await openPlace();
  for (const desk of [tenant, provider]) {
    const id = await desk.upload(bytesOf());
    const { status, body } = await desk.send("GET", `/${id}`);
    expect([status, body.error.code]).toEqual([409, "conflict"]);
  }
});

describe("who sees an attachment", () => {
  test("nobody but its uploader before a message has it; a foreign organization never", async () => {
    const { org, tenant, provider, ticketId } = await openPlace();
    const member = await issuer.createPerson();
    await addPerson(api.deps, org.id, member, "admin");
    const other = openDesk(api, ticketId, member, org);
    const id = await tenant.upload(bytesOf());
    for (const desk of [other, provider]) {
      expect((await desk.send("GET")).body.items).toEqual([]);
      expect((await desk.send("GET", `/${id}`)).status).toBe(404);
      expect((await desk.send("POST", `/${id}/complete`)).status).toBe(404);
    }
    expect((await tenant.send("POST", `/${id}/complete`)).status).toBe(200);
    await tenant.write({ body: "See this.", attachment_ids: [id] });
    expect((await other.send("GET", `/${id}`)).status).toBe(302);

    const foreign = await makeOrganization(api, issuer);
    const theirs = await requests.open(foreign);
    for (const ticket of [ticketId, theirs]) {
      const desk = openDesk(api, ticket, foreign.owner, foreign);
      expect((await desk.send("GET", `/${id}`)).status).toBe(404);
      expect((await desk.send("POST", `/${id}/complete`)).status).toBe(404);
    }
    expect((await openDesk(api, ticketId, foreign.owner, org).send("GET", `/${id}`)).status).toBe(404);
  });

  test("of an internal note: the staff alone", async () => {
    const { tenant, provider, ticketId } = await openPlace();
    const id = await provider.attach(bytesOf(), { filename: "host-17.txt", content_type: "text/plain" });
    const note = { body: "Host 17.", internal: true, attachment_ids: [id] };
    expect((await provider.write(note)).status).toBe(201);
    expect((await provider.send("GET", `/${id}`)).status).toBe(302);
    expect((await provider.send("GET")).body.items).toHaveLength(1);
    expect((await tenant.send("GET")).body.items).toEqual([]);
    expect((await tenant.send("GET", `/${id}`)).status).toBe(404);
    expect((await tenant.send("POST", `/${id}/complete`)).status).toBe(404);
    const audit = await requests.readAudit(ticketId);
    const internal = audit.filter(({ after }) => JSON.stringify(after).includes(id));
    expect(internal.map(({ orgId }) => orgId)).toEqual([null, null]);
  });

  test("a token, the one that uploaded it; its creator is another caller", async () => {
    const { org, tenant, ticketId } = await openPlace();
    const minted = await api.request("POST", `${org.path}/api-tokens`, {
      token: org.owner.token,
      body: { name: "uploads", role: "member", scopes: ["tickets:read", "tickets:write"] },
    });
    const program = openDesk(api, ticketId, { ...org.owner, token: minted.body.token }, org);
    const id = await program.attach(bytesOf());
    expect((await program.send("GET")).body.items).toMatchObject([{ id, created_by: null }]);
    expect((await tenant.send("GET", `/${id}`)).status).toBe(404);
  });
});
