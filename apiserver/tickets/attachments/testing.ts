import { createHash } from "node:crypto";
import { readStack, waitForObjectStore } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import type { Deps } from "../../deps.ts";
import type { TestApp, TestResponse } from "../../testing/app.ts";
import {
  makeOrganization,
  type Person,
  type TestIssuer,
  type TestOrganization,
} from "../../testing/issuer.ts";
import { startTestService } from "../../testing/service.ts";
import { listMessages } from "../store.ts";
import { createTicketRequests } from "../testing.ts";
import type { AttachmentStorage } from "./config.ts";
import { type AttachmentRow, ticketAttachments } from "./table.ts";

/** The store of the stack, as the configuration names it; `waitForObjectStore` waits until it is there. */
export function testStorage(changes: Partial<AttachmentStorage> = {}): AttachmentStorage {
  const { accessKeyId, secretAccessKey, ...storage } = readStack().objectStore;
  return { ...storage, credentials: { accessKeyId, secretAccessKey }, ...changes };
}

/** Starts an API with the store of the stack for the tests of a file, as `setUp` does, with one of its staff. */
export function setUpAttachments() {
  const issuer = {} as TestIssuer;
  const staff = {} as Person;
  const api = setUp(async () => {
    await waitForObjectStore();
    const service = await startTestService({ attachmentStorage: testStorage() });
    Object.assign(issuer, service.issuer);
    Object.assign(staff, await issuer.createStaff());
    return service.api;
  });
  const requests = createTicketRequests(api, staff);
  return {
    api,
    issuer,
    staff,
    requests,
    /** Opens a ticket of an organization of its own; `desk` is of the owner. */
    openTicket: async () => {
      const org = await makeOrganization(api, issuer);
      const ticketId = await requests.open(org);
      return { org, ticketId, desk: openDesk(api, ticketId, org.owner, org) };
    },
  };
}

/** What a client announces about these bytes. */
export function describeFile(bytes: Buffer, changes: object = {}) {
  return {
    filename: "screenshot.png",
    content_type: "image/png",
    size_bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
    ...changes,
  };
}

/** Inserts a completed attachment, by default of the ticket's first message, without bytes; returns its id. */
export async function insertTestAttachment(
  { db }: Pick<Deps, "db">,
  orgId: string,
  ticketId: string,
  changes: Partial<AttachmentRow> = {},
): Promise<string> {
  const [first] = await listMessages(db, { id: ticketId, orgId }, { internal: false }, { limit: 1 });
  const id = createId();
  await db.insert(ticketAttachments).values({
    id,
    orgId,
    ticketId,
    messageId: first?.id ?? null,
    uploader: "user:somebody",
    authorType: "provider",
    filename: "report.txt",
    contentType: "text/plain",
    sizeBytes: 1,
    sha256: "0".repeat(64),
    createdAt: new Date(),
    completedAt: new Date(),
    ...changes,
  });
  return id;
}

interface Upload {
  url: string;
  headers: Record<string, string>;
}

/** Sends bytes to the store as `upload` says; the client sets their length by itself. Returns status and error. */
export async function uploadTo({ url, headers }: Upload, bytes: Buffer, changes: object = {}) {
  const { "Content-Length": _, ...others } = headers;
  const response = await fetch(url, {
    method: "PUT",
    headers: { ...others, ...changes },
    body: new Uint8Array(bytes),
  });
  const code = /<Code>(\w+)<\/Code>/.exec(await response.text())?.[1];
  return code === undefined ? `${response.status}` : `${response.status} ${code}`;
}

/** The attachments of one ticket, as one caller sees them. */
export interface AttachmentDesk {
  path: string;
  send(method: string, path?: string, body?: object, headers?: Record<string, string>): Promise<TestResponse>;
  /** Announces and uploads; returns the id. */
  upload(bytes: Buffer, changes?: object): Promise<string>;
  /** Like `upload`, and completes the attachment. */
  attach(bytes: Buffer, changes?: object): Promise<string>;
  write(body: object): Promise<TestResponse>;
}

/** For a member of `org`, or without it for a member of the platform's staff. */
export function openDesk(
  api: TestApp,
  ticketId: string,
  { token }: Person,
  org?: TestOrganization,
): AttachmentDesk {
  const ticket = org === undefined ? `/api/v1/admin/tickets/${ticketId}` : `${org.path}/tickets/${ticketId}`;
  const path = `${ticket}/attachments`;
  const request = (method: string, at: string, body?: object, headers: Record<string, string> = {}) =>
    api.request(method, at, { token, headers, ...(body === undefined ? {} : { body }) });
  const send: AttachmentDesk["send"] = (method, place = "", body, headers = {}) =>
    request(method, `${path}${place}`, body, headers);
  const upload: AttachmentDesk["upload"] = async (bytes, changes) => {
    const { status, body } = await send("POST", "", describeFile(bytes, changes));
    if (status !== 201) throw new Error(`not announced: ${JSON.stringify(body)}`);
    const result = await uploadTo(body.upload, bytes);
    if (result !== "200") throw new Error(`not uploaded: ${result}`);
    return body.id;
  };
  return {
    path,
    send,
    upload,
    async attach(bytes, changes) {
      const id = await upload(bytes, changes);
      const { status, body } = await send("POST", `/${id}/complete`);
      if (status !== 200) throw new Error(`not completed: ${JSON.stringify(body)}`);
      return id;
    },
    write: (body) => request("POST", `${ticket}/messages`, body),
  };
}
