import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { registrySchema } from "./config.ts";

const signingKey = generateKeyPairSync("ec", { namedCurve: "P-256" })
  .privateKey.export({ type: "pkcs8", format: "pem" })
  .toString();
const url = "https://registry.example.com";
const distribution = { url, signingKey };
const harbor = { kind: "harbor", url, username: "robot$marina", password: "secret" };

describe("a registry", () => {
  test("without a kind is a distribution, with the host of its address and no limits", () => {
    expect(registrySchema.parse(distribution)).toMatchObject({
      kind: "distribution",
      url,
      host: "registry.example.com",
      service: "marina-registry",
      limits: { sizeGiB: undefined, tags: undefined },
      scanner: undefined,
    });
  });

  test("of the kind harbor has a robot account", () => {
    const given = { ...harbor, host: "images.example.com", limits: { sizeGiB: 5 } };
    expect(registrySchema.parse(given)).toEqual({ ...given, limits: { sizeGiB: 5, tags: undefined } });
  });

  test.each([
    ["another kind", { ...harbor, kind: "quay" }, ["kind"]],
    ["no password", { ...harbor, password: undefined }, ["password"]],
    ["a key of Harbor", { ...harbor, signingKey }, []],
    ["a robot account of a distribution", { ...distribution, username: "robot" }, []],
    ["no key", { url }, ["signingKey"]],
    ["a limit of nothing", { ...distribution, limits: { sizeGiB: 0 } }, ["limits", "sizeGiB"]],
    ["an unknown limit", { ...distribution, limits: { size: 1 } }, ["limits"]],
    ["a path", { ...distribution, url: `${url}/v2` }, ["url"]],
  ])("is refused with %s, and the field is named", (_what, given, path) => {
    const { error } = registrySchema.safeParse(given);
    expect(error?.issues.map((issue) => issue.path)).toEqual([path]);
  });
});
