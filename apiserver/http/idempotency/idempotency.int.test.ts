import { eq, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { organizations } from "../../organizations/table.ts";
import { startTestApp } from "../../testing/app.ts";
import {
  createIdempotencyStores,
  type IdempotencyClaim,
  type IdempotencyStore,
  purgeIdempotencyKeys,
} from "./store.ts";
import { idempotencyKeys } from "./table.ts";

const api = setUp(startTestApp);

const path = "/api/v1/organizations";
const post = (key: string, body: object, as: "alice" | "bob" = "alice") =>
  api.request("POST", path, { as, body, headers: { "idempotency-key": key } });

describe("a POST with an Idempotency-Key", () => {
  test("is carried out once, and its response is repeated unchanged", async () => {
    const first = await post("once", { name: "Once" });
    const second = await post("once", { name: "Once" });
    expect(second.status).toBe(201);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("location")).toBe(first.headers.get("location"));
    expect(second.headers.get("idempotency-replayed")).toBe("true");
    expect(second.headers.get("x-request-id")).toBeTruthy();
  });

  test("sent twenty times at once creates one record", async () => {
    const responses = await Promise.all(Array.from({ length: 20 }, () => post("crowd", { name: "Crowd" })));
    const createdIds = new Set(
      responses.filter((response) => response.status === 201).map((response) => response.body.id),
    );
    expect(createdIds.size).toBe(1);
    for (const response of responses.filter(({ status }) => status !== 201)) {
      expect(response.body.error.code).toBe("operation_in_progress");
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(
      await api.deps.db.select().from(organizations).where(eq(organizations.name, "Crowd")),
    ).toHaveLength(1);
  });

  test("with another body is 422", async () => {
    await post("reused", { name: "One" });
    const response = await post("reused", { name: "Two" });
    expect(response.status).toBe(422);
    expect(response.body.error.code).toBe("idempotency_key_reused");
  });

  test("means nothing to another person", async () => {
    const first = await post("mine", { name: "Mine" });
    const other = await post("mine", { name: "Mine" }, "bob");
    expect(other.body.id).not.toBe(first.body.id);
  });

  test("repeats a refusal with the request id of the repetition", async () => {
    await post("slug-owner", { name: "Slug owner", slug: "refused-slug" });
    const first = await post("refused", { name: "X", slug: "refused-slug" });
    const second = await post("refused", { name: "X", slug: "refused-slug" });
    expect(second.body.error.code).toBe("already_exists");
    expect(second.body.error.request_id).not.toBe(first.body.error.request_id);
  });

  test("that was refused for its body can be sent again, corrected", async () => {
    expect((await post("corrected", { name: "" })).status).toBe(422);
    expect((await post("corrected", { name: "Corrected" })).status).toBe(201);
  });

  test.each([["a b"], ["x".repeat(256)]])("is 400 with the key %s", async (key) => {
    expect((await post(key, { name: "X" })).status).toBe(400);
  });
});

test("one key too many of a user is 429 and leaves no row; keys that are there still replay, and others have their own", async () => {
  const store = createIdempotencyStores(2)(api.deps.db);
  const userId = createId();
  const claim = { scope: "user:3 POST /x", bodyHash: "h", id: createId(), objectName: null, userId };
  await store.claim({ ...claim, key: "first" });
  await store.complete({ ...claim, key: "first" }, { status: 201, headers: {}, body: "{}" });
  await store.claim({ ...claim, key: "second" });
  const refusal = { code: "rate_limited", retryAfterSeconds: 3600 };
  await expect(store.claim({ ...claim, key: "third" })).rejects.toMatchObject(refusal);
  // Another replica counts in Postgres.
  const replica = createIdempotencyStores(2)(api.deps.db);
  await expect(replica.claim({ ...claim, key: "third" })).rejects.toMatchObject(refusal);
  expect(await api.deps.db.$count(idempotencyKeys, eq(idempotencyKeys.userId, userId))).toBe(2);
  expect(await store.claim({ ...claim, key: "first" })).toMatchObject({ outcome: "replay" });
  expect(await store.claim({ ...claim, key: "third", userId: createId() })).toMatchObject({ outcome: "run" });
});

describe("an attempt that fails after its response was stored", () => {
  const claim = { scope: "user:4 POST /x", bodyHash: "h", id: createId(), objectName: null };
  const stored = { status: 201, headers: {}, body: "{}" };

  test.each<[string, (store: IdempotencyStore, of: IdempotencyClaim) => Promise<void>]>([
    ["as refused for its body", (store, of) => store.forget(of)],
    ["as refused", (store, of) => store.complete(of, { status: 409, headers: {}, body: "{}" })],
    ["without an outcome", (store, of) => store.release(of)],
  ])("%s, leaves that response", async (key, end) => {
    const store = createIdempotencyStores()(api.deps.db);
    await store.claim({ ...claim, key });
    await store.complete({ ...claim, key }, stored);
    await end(store, { ...claim, key });
    expect(await store.claim({ ...claim, key })).toEqual({ outcome: "replay", response: stored });
  });

  test.each<[string, (store: IdempotencyStore, of: IdempotencyClaim) => Promise<void>]>([
    ["forgets", (store, of) => store.forget(of)],
    ["completes", (store, of) => store.complete(of, stored)],
    ["releases", (store, of) => store.release(of)],
  ])("%s nothing that another request has claimed by the key since", async (key, end) => {
    const store = createIdempotencyStores()(api.deps.db);
    const later = { ...claim, key, id: createId(), bodyHash: "another" };
    await store.claim({ ...claim, key });
    await store.forget({ ...claim, key });
    expect(await store.claim(later)).toMatchObject({ outcome: "run", resumed: false });
    await end(store, { ...claim, key });
    await expect(store.claim(later)).rejects.toMatchObject({ code: "operation_in_progress" });
  });
});

describe("an attempt that ended without an outcome", () => {
  const claim = {
    scope: "user:1 POST /x",
    bodyHash: "h",
    id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
    objectName: "a-1",
  };

  test("is in progress for as long as its lease runs", async () => {
    const store = createIdempotencyStores()(api.deps.db);
    expect(await store.claim({ ...claim, key: "lease" })).toMatchObject({ outcome: "run", resumed: false });
    await expect(store.claim({ ...claim, key: "lease" })).rejects.toMatchObject({
      code: "operation_in_progress",
    });
  });

  test("gives its id and object name to the next one", async () => {
    const store = createIdempotencyStores()(api.deps.db);
    await store.claim({ ...claim, key: "reuse" });
    await store.release({ ...claim, key: "reuse" });
    const later = { ...claim, key: "reuse", id: "0193a1f2-7c3e-7d44-8a0b-000000000000", objectName: "b-2" };
    expect(await store.claim(later)).toEqual({
      outcome: "run",
      id: claim.id,
      objectName: claim.objectName,
      resumed: true,
    });
  });

  test("and all others are forgotten after 24 hours", async () => {
    const store = createIdempotencyStores()(api.deps.db);
    for (const key of ["old", "old-2", "old-3", "old-4", "old-5"]) await store.claim({ ...claim, key });
    await api.deps.db.update(idempotencyKeys).set({ createdAt: sql`now() - interval '25 hours'` });
    expect(await store.claim({ ...claim, key: "old" })).toMatchObject({ resumed: false });
    expect(await purgeIdempotencyKeys(api.deps.db, 2)).toBeGreaterThan(3);
    expect(await purgeIdempotencyKeys(api.deps.db)).toBe(0);
  });
});
