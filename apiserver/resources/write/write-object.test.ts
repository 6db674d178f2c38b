import { beforeEach, expect, test } from "vitest";
import { createKeyedSlots } from "../../../shared/program/limits.ts";
import { withWriteLock } from "./write-object.ts";

const POOL = { kindName: "NodePool", noun: "node pool" } as const;
const LONG_MS = 600_000;

let deps: { writeLocks: ReturnType<typeof createKeyedSlots> };
/** What happened, in order. */
let happened: string[];
beforeEach(() => {
  deps = { writeLocks: createKeyedSlots(1) };
  happened = [];
});

/** A writer that ends when the test ends it. */
function write(
  who: string,
  { withinMs = LONG_MS, name = "web", gone = new AbortController().signal, hasRequest = true } = {},
) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const request = hasRequest
    ? {
        acquireSlot: async () => void happened.push(`${who} begins`),
        releaseSlot: () => void happened.push(`${who} pauses`),
        ended: gone,
        isEnded: false,
        signal: undefined,
        tenant: "org",
      }
    : undefined;
  const done = withWriteLock(deps, request, POOL, { namespace: "org", name, withinMs }, async () => {
    happened.push(`${who} writes`);
    await promise;
    return who;
  });
  return { done, end };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("writers of one object write one after the other in the order in which they came, without a slot while they wait", async () => {
  const writers = ["first", "second", "third"].map((who) => write(who));
  await settle();
  expect(happened).toEqual(["first begins", "second pauses", "third pauses", "first writes"]);
  for (const { done, end } of writers) {
    end();
    await done;
    await settle();
  }
  expect(happened.slice(4)).toEqual(["second begins", "second writes", "third begins", "third writes"]);
});

test("writers of other objects do not wait", async () => {
  write("first");
  write("other", { name: "batch" });
  await settle();
  expect(happened).toContain("other writes");
});

test("behind fifty that wait the next writer is refused with 429 and Retry-After; one of no request is next", async () => {
  const first = write("first");
  const waiting = Array.from({ length: 50 }, (_, index) => write(`waiting ${index}`));
  await expect(write("too many").done).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 1 });
  const revocation = write("revocation", { hasRequest: false });
  first.end();
  revocation.end();
  expect(await revocation.done).toBe("revocation");
  expect(happened.filter((what) => what.endsWith("writes"))).toEqual(["first writes", "revocation writes"]);
  for (const { done, end } of waiting) {
    end();
    await done;
  }
  const later = write("later");
  later.end();
  expect(await later.done).toBe("later");
});

test("a client that disconnects leaves the queue, and the next one gets the lock", async () => {
  const client = new AbortController();
  const [first, gone, next] = [write("first"), write("gone", { gone: client.signal }), write("next")];
  client.abort();
  await expect(gone.done).rejects.toThrow("The client closed the connection.");
  first.end();
  next.end();
  expect(await next.done).toBe("next");
  expect(happened).not.toContain("gone writes");
});

test("a writer that does not get the lock in time is refused with 409, and the next one gets the lock", async () => {
  const [first, late, next] = [write("first"), write("late", { withinMs: 1 }), write("next")];
  await expect(late.done).rejects.toMatchObject({ code: "conflict", retryAfterSeconds: 1 });
  first.end();
  next.end();
  expect(await next.done).toBe("next");
});

test("a writer that fails releases the lock, also when it finds no slot again", async () => {
  const failing = withWriteLock(
    deps,
    {
      acquireSlot: () => Promise.reject(new Error("no slot")),
      releaseSlot: () => undefined,
      ended: new AbortController().signal,
      isEnded: false,
      signal: undefined,
      tenant: "org",
    },
    POOL,
    { namespace: "org", name: "web", withinMs: LONG_MS },
    async () => "written",
  );
  await expect(failing).rejects.toThrow("no slot");
  const next = write("next");
  next.end();
  expect(await next.done).toBe("next");
});
