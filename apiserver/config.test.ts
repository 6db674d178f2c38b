import { describe, expect, test } from "vitest";
import { ConfigError } from "../shared/config.ts";
import { DEFAULT_QUOTAS, readConfig } from "./config.ts";

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
      roles: ["api", "projector", "harvester"],
      issuers: [
        { rolePath: "realm_access.roles", admin: false, trustEmail: false, types: ["JWT", "at+jwt"] },
      ],
      systemEvents: {
        isEnabled: true,
        maxStreams: 5000,
        maxStreamsPerPrincipal: 100,
        maxStreamsPerUser: 200,
        maxStreamsPerOrganization: 500,
      },
      userQuotas: { organizations: 5 },
      maxInvitationsPerAddress: 20,
      maxApiTokensPerOrganization: 100,
    });
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

  test("refuses an unknown setting of an issuer", () => {
    const issuers = JSON.stringify([
      { issuer: "https://issuer.example.com", audience: "marina", adminn: true },
    ]);
    expect(() => readConfig({ ...minimal, MARINA_OIDC_ISSUERS: issuers })).toThrow("adminn");
  });
});
