import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCredentials } from "./credentials.ts";
import type { SendToStore, StoreRequest } from "./http.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "marina-token-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

const NOW_MS = Date.parse("2026-11-21T09:00:00Z");
const MINUTE_MS = 60_000;

/** As the Security Token Service of AWS responds (AssumeRoleWithWebIdentity). */
function respond(key: string, endsAt: string, status = 200): Awaited<ReturnType<SendToStore>> {
  const text = `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
    <SessionToken>session/+=</SessionToken><SecretAccessKey>secret</SecretAccessKey>
    <Expiration>${endsAt}</Expiration><AccessKeyId>${key}</AccessKeyId>
    </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
  return { status, headers: {}, text: status === 200 ? text : "<Error><Code>AccessDenied</Code></Error>" };
}

function open(responses: Awaited<ReturnType<SendToStore>>[]) {
  const requests: StoreRequest[] = [];
  const clock = { nowMs: NOW_MS };
  const send: SendToStore = async (request) => {
    requests.push(request);
    const response = responses.shift();
    if (response === undefined) throw new Error("one request too many");
    return response;
  };
  const tokenFile = join(dir, "token");
  writeFileSync(tokenFile, "first\n");
  const identity = {
    tokenFile,
    roleArn: "arn:aws:iam::1:role/marina",
    stsEndpoint: "https://sts.example.com",
  };
  const read = createCredentials(identity, send, () => new Date(clock.nowMs));
  return { read, requests, clock, tokenFile };
}

describe("credentials of a role", () => {
  test("are taken once by the token in the file, also for callers at the same time", async () => {
    const { read, requests } = open([respond("one", "2026-11-21T10:00:00Z")]);
    const both = await Promise.all([read(), read()]);
    expect(both).toMatchObject(
      Array.from({ length: 2 }, () => ({
        accessKeyId: "one",
        secretAccessKey: "secret",
        sessionToken: "session/+=",
      })),
    );
    expect(requests).toMatchObject([{ method: "POST", url: "https://sts.example.com" }]);
    const sent = Object.fromEntries(new URLSearchParams(requests[0]?.body));
    expect(sent).toMatchObject({
      Action: "AssumeRoleWithWebIdentity",
      RoleArn: "arn:aws:iam::1:role/marina",
      WebIdentityToken: "first",
    });
  });

  test("are taken anew before they end, with the token that the file has by then", async () => {
    const { read, requests, clock, tokenFile } = open([
      respond("one", "2026-11-21T10:00:00Z"),
      respond("two", "2026-11-21T11:00:00Z"),
    ]);
    await read();
    clock.nowMs += 39 * MINUTE_MS;
    expect(await read()).toMatchObject({ accessKeyId: "one" });
    writeFileSync(tokenFile, "second\n");
    clock.nowMs += 2 * MINUTE_MS;
    expect(await read()).toMatchObject({ accessKeyId: "two" });
    expect(requests[1]?.body).toContain("WebIdentityToken=second");
  });

  test("that are refused are asked for again by the next request", async () => {
    const { read } = open([respond("none", "", 403), respond("one", "2026-11-21T10:00:00Z")]);
    await expect(read()).rejects.toMatchObject({ failure: "no_credentials" });
    expect(await read()).toMatchObject({ accessKeyId: "one" });
  });

  test("cannot be had without the file of the token", async () => {
    const { read, tokenFile } = open([]);
    rmSync(tokenFile);
    await expect(read()).rejects.toMatchObject({ failure: "no_credentials" });
  });
});
