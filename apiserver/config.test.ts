import { KeyObject } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../shared/program/config.ts";
import { readConfig } from "./config.ts";
import { DEFAULT_QUOTAS } from "./quotas/config.ts";
import { DEFAULT_RESPONSE_TARGETS } from "./tickets/config.ts";

const minimal = {
  MARINA_PUBLIC_URL: "https://api.example.com/",
  MARINA_DATABASE_URL: "postgres://marina@127.0.0.1/marina",
  MARINA_OIDC_ISSUERS: JSON.stringify([{ issuer: "https://issuer.example.com", audience: "marina" }]),
};

describe("the configuration", () => {
  test("has a default for everything that has a sensible one", () => {
    expect(readConfig(minimal)).toMatchObject({
      listenAddress: "0.0.0.0",
      port: 8080,
      publicUrl: "https://api.example.com",
      platformNamespace: "marina-system",
      roles: ["api", "projector", "harvester", "webhooks", "scanner"],
      issuers: [
        {
          audiences: ["marina"],
          subjectClaim: "sub",
          idNamespace: "https://issuer.example.com",
          emailClaim: "email",
          emailVerifiedClaim: "email_verified",
          trustEmail: false,
          admin: false,
          rolesClaim: ["realm_access", "roles"],
          staffRole: "platform-admin",
          groupsClaim: ["groups"],
          groups: [],
          groupsGraceSeconds: 86_400,
          types: ["JWT", "at+jwt"],
          idTokens: false,
          clockToleranceSeconds: 30,
        },
      ],
      systemEvents: {
        isEnabled: true,
        maxStreams: 5000,
        maxStreamsPerPrincipal: 100,
        maxStreamsPerUser: 200,
        maxStreamsPerOrganization: 500,
      },
      userQuotas: { organizations: 5 },
      maxInvitationsPerUser: 100,
      maxApiTokensPerOrganization: 100,
      maxClusterAccessesPerOrganization: 2000,
      webhooks: {
        keys: [],
        maxPerOrganization: 20,
        allowedAddresses: [],
        blockedAddresses: [],
        blockedNames: [],
        caFile: undefined,
        dnsServers: [],
        concurrency: 512,
        concurrencyPerEndpoint: 8,
      },
    });
  });

  test("takes the keys of webhooks, where they may be sent and how their names are resolved", () => {
    const key = Buffer.alloc(32, 7);
    const { webhooks } = readConfig({
      ...minimal,
      MARINA_WEBHOOK_KEYS: JSON.stringify([{ id: "2026", key: key.toString("base64") }]),
      MARINA_WEBHOOKS_PER_ORGANIZATION: "3",
      MARINA_WEBHOOK_ALLOWED_ADDRESSES: "10.1.0.0/16, fd00::/8",
      MARINA_WEBHOOK_BLOCKED_ADDRESSES: "198.51.100.7",
      MARINA_WEBHOOK_BLOCKED_NAMES: "API.example.com, .internal.example.com",
      MARINA_WEBHOOK_CA_FILE: "/etc/ca.pem",
      MARINA_WEBHOOK_DNS_SERVERS: "192.0.2.1, 192.0.2.2:5353, 2001:db8::1, [2001:db8::2]:53",
    });
    expect(webhooks).toEqual({
      keys: [{ id: "2026", key: expect.any(KeyObject) }],
      maxPerOrganization: 3,
      allowedAddresses: ["10.1.0.0/16", "fd00::/8"],
      blockedAddresses: ["198.51.100.7"],
      blockedNames: ["api.example.com", "internal.example.com"],
      caFile: "/etc/ca.pem",
      dnsServers: ["192.0.2.1", "192.0.2.2:5353", "2001:db8::1", "[2001:db8::2]:53"],
      concurrency: 512,
      concurrencyPerEndpoint: 8,
    });
    expect(webhooks.keys[0]?.key.export()).toEqual(key);
  });

  const KEY = Buffer.alloc(32).toString("base64");
  test.each([
    ["MARINA_WEBHOOK_KEYS", JSON.stringify([{ id: "short", key: Buffer.alloc(31).toString("base64") }])],
    ["MARINA_WEBHOOK_KEYS", JSON.stringify([{ id: "no base64", key: "!" }])],
    ["MARINA_WEBHOOK_KEYS", JSON.stringify([{ id: "", key: KEY }])],
    ["MARINA_WEBHOOK_KEYS", JSON.stringify([1, 2].map(() => ({ id: "twice", key: KEY })))],
    ["MARINA_WEBHOOK_ALLOWED_ADDRESSES", "example.com"],
    ["MARINA_WEBHOOK_BLOCKED_ADDRESSES", "10.0.0.0/33"],
    ["MARINA_WEBHOOK_BLOCKED_NAMES", "https://example.com"],
    ["MARINA_WEBHOOK_DNS_SERVERS", "dns.example.com"],
    ["MARINA_WEBHOOK_DNS_SERVERS", "192.0.2.1:"],
  ])("%s is refused as %s", (name, value) => {
    expect(() => readConfig({ ...minimal, [name]: value })).toThrow(name);
  });

  test("lists every fault at once, by variable", () => {
    const read = () =>
      readConfig({
        MARINA_PORT: "99999",
        MARINA_OIDC_ISSUERS: "[",
        MARINA_ROLES: "api,king",
        MARINA_LOG_LEVEL: "loud",
      });
    expect(read).toThrow(ConfigError);
    for (const name of ["PORT", "OIDC_ISSUERS", "ROLES", "LOG_LEVEL", "PUBLIC_URL", "DATABASE_URL"]) {
      expect(read).toThrow(`MARINA_${name}`);
    }
  });

  test("can switch the live feed off, and bound its streams", () => {
    const config = readConfig({
      ...minimal,
      MARINA_EVENT_HARVESTER: "disabled",
      MARINA_MAX_STREAMS: "7",
      MARINA_MAX_STREAMS_PER_PRINCIPAL: "3",
      MARINA_MAX_STREAMS_PER_USER: "4",
      MARINA_MAX_STREAMS_PER_ORGANIZATION: "5",
    });
    expect(config.systemEvents).toEqual({
      isEnabled: false,
      maxStreams: 7,
      maxStreamsPerPrincipal: 3,
      maxStreamsPerUser: 4,
      maxStreamsPerOrganization: 5,
    });
    expect(() => readConfig({ ...minimal, MARINA_EVENT_HARVESTER: "maybe" })).toThrow(
      "MARINA_EVENT_HARVESTER",
    );
  });

  test("takes some quotas and keeps the default of the others", () => {
    const { quotas } = readConfig({ ...minimal, MARINA_QUOTAS: '{"nodes": 5}' });
    expect(quotas).toEqual({ ...DEFAULT_QUOTAS, nodes: 5 });
    expect(() => readConfig({ ...minimal, MARINA_QUOTAS: '{"pods": 5}' })).toThrow("MARINA_QUOTAS");
    expect(() => readConfig({ ...minimal, MARINA_QUOTAS: '{"nodes": -1}' })).toThrow("MARINA_QUOTAS");
  });

  test("takes some response targets and a calendar, and keeps the default of the other severities", () => {
    const low = { firstHours: 8, nextHours: 16, clock: "working" };
    const hours = { monday: ["08:00-12:00", "13:00-24:00"] };
    const calendar = { timeZone: "Europe/Vienna", hours, holidays: ["2026-12-25"] };
    const text = JSON.stringify({ low, calendar });
    expect(readConfig(minimal).responseTargets).toEqual(DEFAULT_RESPONSE_TARGETS);
    expect(readConfig({ ...minimal, MARINA_RESPONSE_TARGETS: text }).responseTargets).toEqual({
      ...DEFAULT_RESPONSE_TARGETS,
      low,
      calendar: {
        ...calendar,
        hours: {
          monday: [
            { startMinute: 480, endMinute: 720 },
            { startMinute: 780, endMinute: 1440 },
          ],
        },
      },
    });
  });

  const STORE = { endpoint: "https://s3.example.com", bucket: "marina-attachments" };
  const KEYS = { accessKeyId: "id", secretAccessKey: "key" };
  const readStore = (store: object) =>
    readConfig({ ...minimal, MARINA_ATTACHMENT_STORE: JSON.stringify(store) }).attachmentStorage;

  test("takes a store of attachments by keys or by a role, and has none by default", () => {
    expect(readConfig(minimal).attachmentStorage).toBeUndefined();
    expect(readStore({ ...STORE, ...KEYS, endpoint: "https://s3.example.com/", pathStyle: true })).toEqual({
      ...STORE,
      region: "us-east-1",
      pathStyle: true,
      credentials: KEYS,
    });
    const webIdentity = { tokenFile: "/var/run/token", roleArn: "arn:aws:iam::1:role/marina" };
    expect(readStore({ ...STORE, webIdentity })?.credentials).toEqual({
      ...webIdentity,
      stsEndpoint: "https://sts.amazonaws.com",
    });
  });

  test.each([
    ["no credentials", STORE],
    ["half a key", { ...STORE, accessKeyId: "id" }],
    ["a key and a role", { ...STORE, ...KEYS, webIdentity: { tokenFile: "/token", roleArn: "role" } }],
    ["no bucket", { endpoint: STORE.endpoint, ...KEYS }],
    ["the name of no bucket", { ...STORE, ...KEYS, bucket: "A/b" }],
    ["another scheme", { ...STORE, ...KEYS, endpoint: "s3://example.com" }],
    ["an endpoint with a path", { ...STORE, ...KEYS, endpoint: "https://example.com/s3" }],
    ["an unknown setting", { ...STORE, ...KEYS, proxy: "x" }],
  ])("refuses a store of attachments with %s", (_case, store) => {
    expect(() => readStore(store)).toThrow("MARINA_ATTACHMENT_STORE");
  });

  const CALENDAR = { timeZone: "Europe/Vienna", hours: { monday: ["08:00-17:00"] } };
  test.each([
    ["a target without hours", { low: { firstHours: 8 } }],
    ["no time at all", { low: { firstHours: 0, nextHours: 8 } }],
    ["more than 30 days", { low: { firstHours: 8, nextHours: 721 } }],
    ["an unknown severity", { urgent: { firstHours: 8, nextHours: 8 } }],
    ["working hours without a calendar", { low: { firstHours: 8, nextHours: 8, clock: "working" } }],
    ["an unknown time zone", { calendar: { ...CALENDAR, timeZone: "Europe/Atlantis" } }],
    ["no working hour", { calendar: { ...CALENDAR, hours: {} } }],
    ["an unknown day", { calendar: { ...CALENDAR, hours: { someday: ["08:00-17:00"] } } }],
    ["a day that ends before it begins", { calendar: { ...CALENDAR, hours: { monday: ["17:00-08:00"] } } }],
    ["a day of more than 24 hours", { calendar: { ...CALENDAR, hours: { monday: ["08:00-24:30"] } } }],
    ["times that overlap", { calendar: { ...CALENDAR, hours: { monday: ["08:00-12:00", "11:00-17:00"] } } }],
    ["a holiday that is no date", { calendar: { ...CALENDAR, holidays: ["2026-02-30"] } }],
  ])("refuses response targets with %s", (_case, targets) => {
    const text = JSON.stringify(targets);
    expect(() => readConfig({ ...minimal, MARINA_RESPONSE_TARGETS: text })).toThrow(
      "MARINA_RESPONSE_TARGETS",
    );
  });

  test.each(["0", "10241", "1.5", ""])("refuses %j as the default storage quota", (text) => {
    expect(readConfig(minimal).defaultStorageQuotaGB).toBe(100);
    expect(() => readConfig({ ...minimal, MARINA_DEFAULT_STORAGE_QUOTA_GB: text })).toThrow(
      "MARINA_DEFAULT_STORAGE_QUOTA_GB",
    );
  });

  const issuerAt = (issuer: string) => JSON.stringify([{ issuer, audience: "marina" }]);

  test.each([
    "https://issuer.example.com",
    "http://127.0.0.1:8090",
    "http://localhost:8090/a",
    "http://[::1]:8090",
  ])("an issuer at %s is accepted", (issuer) => {
    const config = readConfig({ ...minimal, MARINA_OIDC_ISSUERS: issuerAt(issuer) });
    expect(config.issuers[0]?.issuer).toBe(issuer);
  });

  test.each(["http://issuer.example.com", "http://127.0.0.1.example.com"])(
    "an issuer at %s is refused",
    (issuer) => {
      expect(() => readConfig({ ...minimal, MARINA_OIDC_ISSUERS: issuerAt(issuer) })).toThrow(
        "must be https, or a loopback address",
      );
    },
  );

  const A = { issuer: "https://a.example.com", audience: "marina" };
  const ORGANIZATION = "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11";
  const B = { issuer: "https://b.example.com", audience: "marina" };
  test.each<[string, object[], string]>([
    ["no issuer", [], "MARINA_OIDC_ISSUERS"],
    ["no audience", [{ issuer: A.issuer }], "MARINA_OIDC_ISSUERS.0.audience"],
    ["an empty list of audiences", [{ ...A, audience: [] }], "MARINA_OIDC_ISSUERS.0.audience"],
    ["the same issuer twice", [A, B, { ...A, audience: "b" }], `names the issuer ${A.issuer} a second time`],
    [
      "a group twice to one organization",
      [
        {
          ...A,
          groups: ["member", "viewer"].map((role) => ({ group: "devs", organization: ORGANIZATION, role })),
        },
      ],
      `maps the group devs to the organization ${ORGANIZATION} a second time`,
    ],
    ["an issuer that could make the ids of another", [A, { ...B, idNamespace: A.issuer }], A.issuer],
    [
      "two that could make the ids of each other",
      [A, B].map((one) => ({ ...one, idNamespace: "x" })),
      "idNamespace x",
    ],
    [
      "a clock tolerance of more than 5 minutes",
      [{ ...A, clockToleranceSeconds: 301 }],
      "clockToleranceSeconds",
    ],
    ["authorities that are none", [{ ...A, caBundle: "/etc/ca.crt" }], "must be certificates in PEM"],
    ["a path of roles in the form of before", [{ ...A, rolePath: "groups" }], "rolePath"],
  ])("refuses %s", (_what, issuers, fault) => {
    const text = JSON.stringify(issuers);
    expect(() => readConfig({ ...minimal, MARINA_OIDC_ISSUERS: text })).toThrow(fault);
  });

  test("refuses an unknown setting of an issuer", () => {
    const issuers = JSON.stringify([
      { issuer: "https://issuer.example.com", audience: "marina", adminn: true },
    ]);
    expect(() => readConfig({ ...minimal, MARINA_OIDC_ISSUERS: issuers })).toThrow("adminn");
  });
});
