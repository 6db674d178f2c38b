import { expect, test } from "vitest";
import { createKeyedSlots, createSharedSlots } from "./limits.ts";

test("a tenant takes its slots at once and waits for the next one, in the order of the calls", async () => {
  const slots = createKeyedSlots(2);
  const order: string[] = [];
  const take = async (name: string) => {
    const release = await slots.take("a");
    order.push(name);
    return release;
  };
  const first = await take("first");
  const second = await take("second");
  const waiting = [take("third"), take("fourth")];
  await Promise.resolve();
  expect(order).toEqual(["first", "second"]);
  second();
  (await waiting[0])?.();
  first();
  await waiting[1];
  expect(order).toEqual(["first", "second", "third", "fourth"]);
});

test("a tenant that holds all its slots delays no other", async () => {
  const slots = createKeyedSlots(1);
  await slots.take("loud");
  void slots.take("loud");
  await expect(slots.take("quiet")).resolves.toBeTypeOf("function");
});

test("a wait that is aborted rejects with its reason and takes no slot", async () => {
  const slots = createKeyedSlots(1);
  const release = await slots.take("a");
  const stop = new AbortController();
  const aborted = slots.take("a", stop.signal);
  const next = slots.take("a");
  stop.abort(new Error("gone"));
  await expect(aborted).rejects.toThrow("gone");
  await expect(slots.take("a", stop.signal)).rejects.toThrow("gone");
  release();
  await expect(next).resolves.toBeTypeOf("function");
});

test("those that wait are counted, until they have a slot or are aborted", async () => {
  const slots = createKeyedSlots(1);
  const release = slots.tryTake("a");
  expect(slots.tryTake("a")).toBeUndefined();
  const stop = new AbortController();
  const [aborted, next] = [slots.take("a", stop.signal), slots.take("a")];
  expect([slots.countWaiting("a"), slots.countWaiting("b")]).toEqual([2, 0]);
  stop.abort(new Error("gone"));
  await expect(aborted).rejects.toThrow("gone");
  expect(slots.countWaiting("a")).toBe(1);
  release?.();
  await next;
  expect(slots.countWaiting("a")).toBe(0);
});

test("of shared slots a key waits for its own first, and keeps none when its wait is aborted", async () => {
  const slots = createSharedSlots({ perKey: 1, all: 2 });
  const release = await slots.take("a");
  expect(slots.tryTake("a")).toBeUndefined();
  await slots.take("b");
  expect(slots.tryTake("c")).toBeUndefined();
  const stop = new AbortController();
  const [aborted, next] = [slots.take("c", stop.signal), slots.take("c")];
  stop.abort(new Error("gone"));
  await expect(aborted).rejects.toThrow("gone");
  release();
  await expect(next).resolves.toBeTypeOf("function");
  expect(slots.tryTake("a")).toBeUndefined();
});
