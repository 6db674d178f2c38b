import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { createId } from "../../../shared/program/id.ts";
import { createObjectStore } from "./objects/object-store.ts";
import { describeFile, setUpAttachments, testStorage, uploadTo } from "./testing.ts";

const { openTicket } = setUpAttachments();

const BYTES = randomBytes(1000);

async function announce() {
  const { desk } = await openTicket();
  const { body } = await desk.send("POST", "", describeFile(BYTES));
  return { desk, id: body.id as string, upload: body.upload };
}

describe("the store refuses an upload", () => {
  const longer = Buffer.concat([BYTES, Buffer.from("!")]);
  const other = Buffer.from(BYTES.toReversed());
  test.each<[string, Buffer, object, (url: string) => string, string]>([
    ["that is longer than announced", longer, {}, (url) => url, "403 SignatureDoesNotMatch"],
    ["that is shorter", BYTES.subarray(1), {}, (url) => url, "403 SignatureDoesNotMatch"],
    ["with other bytes", other, {}, (url) => url, "400 BadDigest"],
    [
      "with the digest of other bytes",
      other,
      { "x-amz-checksum-sha256": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=" },
      (url) => url,
      "403 SignatureDoesNotMatch",
    ],
    ["of another type", BYTES, { "Content-Type": "text/html" }, (url) => url, "403 SignatureDoesNotMatch"],
    [
      "whose signature was changed",
      BYTES,
      {},
      (url) => url.replace(/(X-Amz-Signature=).{8}/, "$100000000"),
      "403 SignatureDoesNotMatch",
    ],
    [
      "to another key",
      BYTES,
      {},
      (url) => url.replace("/quarantine/", "/attachments/"),
      "403 SignatureDoesNotMatch",
    ],
    [
      "whose time was lengthened",
      BYTES,
      {},
      (url) => url.replace("X-Amz-Expires=900", "X-Amz-Expires=9000"),
      "403 SignatureDoesNotMatch",
    ],
  ])("%s, and its completion is 409", async (_case, bytes, headers, change, refusal) => {
    const { desk, id, upload } = await announce();
    expect(await uploadTo({ ...upload, url: change(upload.url) }, bytes, headers)).toBe(refusal);
    const { status, body } = await desk.send("POST", `/${id}/complete`);
    expect([status, body.error.message]).toEqual([409, "Nothing has been uploaded yet."]);
  });

  test("a second time, also once it is completed", async () => {
    const { desk, id, upload } = await announce();
    expect(await uploadTo(upload, BYTES)).toBe("200");
    expect(await uploadTo(upload, BYTES)).toBe("412 PreconditionFailed");
    expect((await desk.send("POST", `/${id}/complete`)).status).toBe(200);
    expect(await uploadTo(upload, BYTES)).toBe("412 PreconditionFailed");
  });

  test("and a download after their time", async () => {
    const store = createObjectStore(testStorage(), () => new Date());
    const key = `quarantine/${createId()}`;
    const { sha256, size_bytes: sizeBytes, content_type: contentType } = describeFile(BYTES);
    const upload = await store.signUpload(key, { sha256, sizeBytes, contentType }, 1);
    const download = await store.signDownload(key, "attachment", 1);
    await waitFor("the address of the upload to end", async () => {
      expect(await uploadTo({ ...upload, headers: { ...upload.headers } }, BYTES)).toMatch(/^403/);
      return true;
    });
    await waitFor("the address of the download to end", async () => (await fetch(download)).status === 403);
    await store.remove(key);
  });
});

describe("a completion", () => {
  test("is 409 the second time, and leaves the first", async () => {
    const { desk, id, upload } = await announce();
    await uploadTo(upload, BYTES);
    const first = await desk.send("POST", `/${id}/complete`);
    expect(first.status).toBe(200);
    expect(await desk.send("POST", `/${id}/complete`)).toMatchObject({
      status: 409,
      body: { error: { code: "conflict" } },
    });
    expect((await desk.send("GET")).body.items).toEqual([first.body]);
  });

  test("at the same time happens once", async () => {
    const { desk, id, upload } = await announce();
    await uploadTo(upload, BYTES);
    const all = await Promise.all(Array.from({ length: 8 }, () => desk.send("POST", `/${id}/complete`)));
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 409),
    ]);
  });

  test("of an object that somebody with the keys of the store has put there instead is 409", async () => {
    const { org, ticketId, desk } = await openTicket();
    const { body } = await desk.send("POST", "", describeFile(BYTES));
    const store = createObjectStore(testStorage(), () => new Date());
    const key = `quarantine/${org.id}/${ticketId}/${body.id}`;
    const other = Buffer.from("other bytes");
    const { sha256, size_bytes: sizeBytes } = describeFile(other);
    const upload = await store.signUpload(key, { sha256, sizeBytes, contentType: "image/png" }, 60);
    expect(await uploadTo({ ...upload, headers: { ...upload.headers } }, other)).toBe("200");
    const completed = await desk.send("POST", `/${body.id}/complete`);
    expect([completed.status, completed.body.error.message]).toEqual([
      409,
      "What was uploaded is not what was announced; announce it anew.",
    ]);
  });
});
