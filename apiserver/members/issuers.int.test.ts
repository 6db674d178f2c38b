import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { memberHooks } from "../app.ts";
import { createAuthenticator } from "../http/authentication/authenticator.ts";
import type { ConfiguredIssuer } from "../http/authentication/issuer-config.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { startTestIssuer, type TestIssuer } from "../testing/issuer.ts";
import { bindUser, recordIssuers } from "./index.ts";
import { users } from "./table.ts";

let api: TestApp;
const started: TestIssuer[] = [];
beforeAll(async () => {
  api = await startTestApp();
});
afterAll(async () => {
  await api.close();
  for (const issuer of started) issuer.close();
});

async function startIssuer(changes: Parameters<typeof startTestIssuer>[0] = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(changes);
  started.push(issuer);
  return issuer;
}

/** As an installer has it who says nothing about ids. */
function withoutRules({ config }: TestIssuer): ConfiguredIssuer {
  const { uuidSubjects: _, ...rest } = config;
  return rest;
}

/** Starts a process with these issuers; signs in with a subject, and gives the user's id or the error's message. */
async function start(configured: readonly ConfiguredIssuer[]) {
  const authenticator = createAuthenticator({
    issuers: await recordIssuers(api.deps.db, configured),
    bindUser: (user, groups) => bindUser({ db: api.deps.db, hooks: memberHooks }, user, groups),
    apiTokens: { isApiToken: () => false, isWellFormed: () => false, verify: async () => undefined },
    log: api.deps.log,
  });
  return async (
    issuer: TestIssuer,
    userId: string,
    claims: Record<string, unknown> = {},
  ): Promise<string> => {
    const token = await issuer.sign({ userId, email: `${createId()}@example.com` }, { claims });
    const signedIn = authenticator.authenticate(`Bearer ${token}`);
    return signedIn.then(
      (principal) => principal.userId,
      (error: Error) => error.message,
    );
  };
}

const BELONGS_TO_ANOTHER = "The bearer token is not valid: subject of another issuer.";

describe("another issuer's user", () => {
  test("cannot be impersonated, before or after the first sign-in, by a second issuer that gives the same UUID", async () => {
    const [first, second] = [await startIssuer(), await startIssuer()];
    const signIn = await start([withoutRules(first), withoutRules(second)]);
    const victim = createId();
    const squatter = await signIn(second, victim);
    expect(squatter).not.toBe(victim);
    expect(await signIn(first, victim)).toBe(victim);
    expect(await signIn(second, victim)).toBe(squatter);
  });

  test("whose id was made cannot be impersonated with that id as the subject", async () => {
    const [first, second] = [await startIssuer(), await startIssuer()];
    const signIn = await start([first.config, second.config]);
    const made = await signIn(first, "auth0|victim");
    expect(await signIn(second, made)).not.toBe(made);
    expect(await signIn(first, made)).not.toBe(made);
  });

  test("keeps an id that a second issuer, whose UUIDs are ids too, gives later", async () => {
    const [first, second] = [await startIssuer(), await startIssuer()];
    const signIn = await start([first.config, second.config]);
    const id = createId();
    expect(await signIn(first, id)).toBe(id);
    expect(await signIn(second, id)).toBe(BELONGS_TO_ANOTHER);
  });
});

describe("an upgrade from a version that recorded no issuers", () => {
  test("leaves the ids of all users of every issuer as they are", async () => {
    const [first, second] = [await startIssuer(), await startIssuer()];
    const ids = [createId(), createId()];
    await api.deps.db.insert(users).values([
      { id: ids[0] ?? "", issuer: first.config.issuer },
      { id: ids[1] ?? "", issuer: second.config.issuer },
    ]);
    const configured = [withoutRules(first), withoutRules(second)];
    for (const order of [configured, configured.toReversed()]) {
      const signIn = await start(order);
      expect([await signIn(first, ids[0] ?? ""), await signIn(second, ids[1] ?? "")]).toEqual(ids);
    }
  });

  test("is refused where users have ids of version 5, which are no ids any more", async () => {
    const issuer = await startIssuer();
    const id = "0193a1f2-7c3e-5d44-8a0b-5f1f0c9d2e11";
    await api.deps.db.insert(users).values({ id, issuer: issuer.config.issuer });
    await expect(start([issuer.config])).rejects.toThrow(/version 5/);
    const signIn = await start([{ ...issuer.config, acceptNewIds: true }]);
    expect(await signIn(issuer, id)).not.toBe(id);
    await expect(start([issuer.config])).resolves.toBeTypeOf("function");
  });
});

describe("the rules of an issuer with users", () => {
  test("do not change unless that is accepted, and a refused start changes nothing", async () => {
    const issuer = await startIssuer();
    const before = await start([issuer.config]);
    const id = await before(issuer, "alice");
    const changed = { ...issuer.config, subjectClaim: "email" };
    await expect(start([await startIssuer().then(({ config }) => config), changed])).rejects.toThrow(
      /ids were made with subjectClaim "sub"/,
    );
    expect(await (await start([issuer.config]))(issuer, "alice")).toBe(id);
    const after = await start([{ ...changed, acceptNewIds: true }]);
    expect(await after(issuer, "alice")).not.toBe(id);
    await expect(start([changed])).resolves.toBeTypeOf("function");
    await expect(start([issuer.config])).rejects.toThrow(/ids were made with subjectClaim "email"/);
  });

  test("and its users go over to its new URL, and back, by the namespace", async () => {
    const [former, current] = [await startIssuer(), await startIssuer()];
    const uuid = createId();
    const atFirst = await start([withoutRules(former)]);
    const ids = [await atFirst(former, uuid), await atFirst(former, "alice")];
    const moved = { ...withoutRules(current), idNamespace: former.config.issuer };
    const later = await start([moved]);
    expect([await later(current, uuid), await later(current, "alice")]).toEqual(ids);
    const [row] = await api.deps.db.select().from(users).where(eq(users.id, uuid));
    expect(row?.issuer).toBe(current.config.issuer);
    const again = await start([withoutRules(former)]);
    expect([await again(former, uuid), await again(former, "alice")]).toEqual(ids);
  });

  test("are compared with those of its last start, at whatever URL that was", async () => {
    const [first, second, third] = [await startIssuer(), await startIssuer(), await startIssuer()];
    await (await start([first.config]))(first, "alice");
    const idNamespace = first.config.issuer;
    await start([{ ...second.config, idNamespace, subjectClaim: "oid", acceptNewIds: true }]);
    for (const { config } of [first, third])
      await expect(start([{ ...config, idNamespace }])).rejects.toThrow(
        /ids were made with subjectClaim "oid"/,
      );
  });

  test("and its users stay where they are while the former URL is configured too", async () => {
    const [former, current] = [await startIssuer(), await startIssuer()];
    const id = createId();
    expect(await (await start([former.config]))(former, id)).toBe(id);
    const both = await start([former.config, current.config]);
    expect(await both(current, id)).toBe(BELONGS_TO_ANOTHER);
  });
});

test("processes that start at once record the same rules", async () => {
  const issuer = await startIssuer();
  const starts = await Promise.all(
    [1, 2, 3, 4].map(() => recordIssuers(api.deps.db, [withoutRules(issuer)])),
  );
  expect(new Set(starts.map(([config]) => config?.uuidSubjects))).toEqual(new Set([true]));
});
