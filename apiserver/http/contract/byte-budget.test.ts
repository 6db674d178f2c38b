import type { Context } from "hono";
import { expect, test } from "vitest";
import type { HttpEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { readText } from "./body.ts";
import { type ByteConsumer, createByteBudget, findConsumers } from "./byte-budget.ts";

const consumer = (name: string, part = 1): ByteConsumer => ({ key: name, name: `this ${name}`, part });
const refusal = (status: number, message: string) =>
  expect.objectContaining({
    status,
    retryAfterSeconds: 1,
    headers: { Connection: "close" },
    message: expect.stringContaining(message),
  }) as unknown as ApiError;
const create = (maxBytes: number, maxAllocations?: number) =>
  createByteBudget({ maxBytes, what: "bodies", ...(maxAllocations === undefined ? {} : { maxAllocations }) });

test("bytes beyond the whole budget are 503 with Retry-After, until another allocation is closed", () => {
  const budget = create(100);
  const [first, second] = [budget.open([consumer("a")]), budget.open([consumer("b")])];
  first.add(60);
  second.add(40);
  expect(() => second.add(1)).toThrow(refusal(503, "Too many bodies at once"));
  expect(() => budget.requireCapacity([consumer("c")])).toThrow(refusal(503, "bodies at once"));
  first.close();
  second.add(60);
  expect(() => second.add(1)).toThrow(ApiError);
});

test("bytes of one consumer beyond its share are 429, and take nothing from another", () => {
  const budget = create(100);
  const [user, organization] = [consumer("user", 0.25), consumer("organization", 0.5)];
  budget.open([user, organization]).add(25);
  expect(() => budget.open([user]).add(1)).toThrow(refusal(429, "for this user"));
  expect(() => budget.requireCapacity([user, organization])).toThrow(refusal(429, "for this user"));
  budget.open([consumer("other", 0.25), organization]).add(25);
  expect(() => budget.open([consumer("third", 0.25), organization]).add(1)).toThrow(
    refusal(429, "for this organization"),
  );
  budget.open([consumer("third", 0.25)]).add(25);
});

test("while eight users have all that they may, another one still has what is guaranteed, and no more", () => {
  const budget = create(1_048_576);
  for (let n = 0; n < 8; n++) budget.open([consumer(`user ${n}`, 1 / 8)]).add(131_072);
  const another = [consumer("another", 1 / 8)];
  budget.requireCapacity(another);
  budget.open(another).add(1024);
  expect(() => budget.open(another).add(1)).toThrow(refusal(503, "Too many bodies at once"));
});

test("callers without a credential have a quarter together, from however many addresses", () => {
  const budget = create(1_048_576);
  const from = (sourceAddress: string) =>
    findConsumers({
      get: (name: string) => (name === "sourceAddress" ? sourceAddress : undefined),
    } as Context<HttpEnv>);
  budget.open(from("192.0.2.1")).add(131_072);
  expect(() => budget.open(from("192.0.2.1")).add(1)).toThrow(refusal(429, "for this address"));
  budget.open(from("192.0.2.2")).add(131_072);
  expect(() => budget.open(from("192.0.2.3")).add(257)).toThrow(refusal(429, "for callers who are no users"));
  budget.open([consumer("user", 1 / 8)]).add(131_072);
});

test("while others use up a share, a caller still has a 1,024th of that, and no more", () => {
  const budget = create(1_048_576);
  const organization = consumer("organization", 1 / 4);
  for (const name of ["a", "b"]) budget.open([consumer(name, 1 / 8), organization]).add(131_072);
  const another = [consumer("another", 1 / 8), organization];
  budget.requireCapacity(another);
  budget.open(another).add(256);
  expect(() => budget.open(another).add(1)).toThrow(refusal(429, "for this organization"));
});

test("the credential of a cluster has a share of its own, within its organization's, and none of those without one", () => {
  const values: Record<string, unknown> = { sourceAddress: "192.0.2.1", credential: { id: "c", orgId: "o" } };
  const consumers = findConsumers({ get: (name: string) => values[name] } as Context<HttpEnv>);
  expect(consumers.map(({ key, part }) => [key, part])).toEqual([
    ["credential c", 1 / 8],
    ["organization o", 1 / 4],
  ]);
});

test("to make room the oldest allocations of a consumer beyond its share are cut off, nobody else's and never the last one", () => {
  const budget = create(1_048_576);
  const [user, organization] = [consumer("user", 1 / 8), consumer("organization", 1 / 4)];
  const cut: string[] = [];
  const open = (name: string, consumers: ByteConsumer[], bytes: number) => {
    const allocation = budget.open(consumers, () => cut.push(name));
    allocation.addUnchecked(bytes);
    allocation.makeRoom();
    return allocation;
  };
  open("of another", [consumer("other", 1 / 8)], 131_072);
  open("oldest", [user, organization], 100_000);
  open("older", [user, organization], 31_072);
  expect(cut).toEqual([]);
  open("large", [user, organization], 200_000);
  expect(cut).toEqual(["oldest", "older"]);
  open("of a member", [consumer("member", 1 / 8), organization], 100_000);
  expect(cut).toEqual(["oldest", "older", "large"]);
  budget.open([consumer("third", 1 / 8), organization]).addUnchecked(180_000);
  open("small", [consumer("fourth", 1 / 8), organization], 256);
  expect(cut).toHaveLength(3);
});

test("to make room nothing of the same connection is cut off, for all of it would be", () => {
  const budget = create(1_048_576);
  const user = [consumer("user", 1 / 8)];
  const cut: string[] = [];
  const connection = {};
  budget.open(user, () => cut.push("of this connection"), connection).addUnchecked(131_072);
  budget.open(user, () => cut.push("of another"), {}).addUnchecked(131_072);
  const change = budget.open(user, () => cut.push("the change"), connection);
  change.addUnchecked(1000);
  change.makeRoom();
  expect(cut).toEqual(["of another"]);
});

test("an allocation that is complete makes room for another one, and its bytes count until it is closed", () => {
  const budget = create(100, 1);
  const user = consumer("user");
  const first = budget.open([user]);
  first.add(60);
  first.complete();
  const second = budget.open([user]);
  expect(() => second.add(41)).toThrow(refusal(429, "for this user"));
  expect(() => budget.open([user])).toThrow(refusal(429, "for this user"));
  first.close();
  second.add(100);
});

test("a small body that has not arrived counts with what its parts take", async () => {
  const body = ReadableStream.from(Array(49).fill(new Uint8Array(1)));
  const raw = new Request("http://x", { method: "POST", body, duplex: "half" });
  const header = (name: string) => (name === "content-length" ? "49" : undefined);
  const req = { header, raw, arrayBuffer: () => raw.arrayBuffer() };
  const c = { req, get: () => undefined, env: { incoming: { complete: false } } };
  const limits = { maxBytes: 100, budget: create(100_000) };
  const read = readText(c as unknown as Context<HttpEnv>, limits, String);
  await expect(read).rejects.toThrow(refusal(429, "for this address"));
});

test("a consumer has so many allocations at once, and another is 429 until one is closed", () => {
  const budget = create(100, 8);
  const user = consumer("user", 0.25);
  const [first] = [budget.open([user]), budget.open([user])];
  expect(() => budget.open([user])).toThrow(refusal(429, "for this user"));
  budget.open([consumer("other", 0.25)]);
  first.close();
  budget.open([user]);
  expect(() => budget.open([user])).toThrow(ApiError);
});

test("bytes that are kept in any case count, and refuse what comes next", () => {
  const budget = create(100);
  const user = consumer("user", 0.5);
  const allocation = budget.open([user]);
  allocation.addUnchecked(80);
  expect(() => budget.requireCapacity([user])).toThrow(ApiError);
  allocation.close();
  budget.requireCapacity([user]);
});

test("an allocation that is closed twice gives back once what it counted", () => {
  const budget = create(100);
  const [first, second] = [budget.open([consumer("a")]), budget.open([consumer("a")])];
  first.add(50);
  second.add(50);
  first.close();
  first.close();
  expect(() => second.add(51)).toThrow(ApiError);
});
