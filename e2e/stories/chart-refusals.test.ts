import { describe, expect, test } from "vitest";
import { findRefusal, REQUIRED_VALUES, type Values } from "../testing/chart.ts";

describe("values are refused", () => {
  test.each<[string, Values, RegExp]>([
    ["without a host", { ...REQUIRED_VALUES, host: "" }, /\n {2}host: /],
    ["without a database", { ...REQUIRED_VALUES, database: {} }, /\n {2}database\.existingSecret: /],
    ["without an issuer", { ...REQUIRED_VALUES, oidc: {} }, /\n {2}oidc\.issuers: /],
    ["with an unknown name", { ...REQUIRED_VALUES, replicas: 3 }, /'replicas' not allowed/],
    [
      "with an unknown name below",
      { ...REQUIRED_VALUES, apiserver: { replica: 3 } },
      /'replica' not allowed/,
    ],
    [
      "with a URL as host",
      { ...REQUIRED_VALUES, host: "https://api.example.com" },
      /host is a name without a scheme/,
    ],
    ["with no replicas", { ...REQUIRED_VALUES, operator: { replicas: 0 } }, /replicas/],
    [
      "with two control plane replicas",
      { ...REQUIRED_VALUES, plans: { default: { class: "a", controlPlaneReplicas: 2 } } },
      /controlPlaneReplicas/,
    ],
    [
      "with a memory limit in another unit",
      { ...REQUIRED_VALUES, operator: { resources: { limits: { memory: "1G" } } } },
      /memory/,
    ],
    [
      "with a database of its own and one of others",
      {
        ...REQUIRED_VALUES,
        database: { existingSecret: "db", cloudNativePG: { enabled: true, apiserverSecret: "api" } },
      },
      /database\.existingSecret and database\.cloudNativePG exclude each other/,
    ],
    [
      "with a database of CloudNativePG without a password of the API server",
      { ...REQUIRED_VALUES, database: { cloudNativePG: { enabled: true } } },
      /\n {2}database\.cloudNativePG\.apiserverSecret: /,
    ],
    [
      "with a scanner and no registry",
      { ...REQUIRED_VALUES, scanner: { enabled: true } },
      /\n {2}registry\.existingSecret: .* for scanner\.enabled/,
    ],
    ["with an Ingress alone", { ...REQUIRED_VALUES, ingress: { enabled: true } }, /trustedProxies/],
    ["with a route alone", { ...REQUIRED_VALUES, httpRoute: { enabled: true } }, /trustedProxies/],
    ["with an unknown role", { ...REQUIRED_VALUES, apiserver: { roles: ["api", "scan"] } }, /roles/],
    [
      "with a label of the chart's own for Pods",
      { ...REQUIRED_VALUES, apiserver: { podLabels: { "app.kubernetes.io/name": "other" } } },
      /invalid propertyName 'app\.kubernetes\.io\/name'/,
    ],
    ["with a tag as digest", { ...REQUIRED_VALUES, image: { digest: "1.0" } }, /digest/],
    [
      "with a number as tag",
      { ...REQUIRED_VALUES, image: { ...REQUIRED_VALUES.image, tag: 1.1 } },
      /at '\/image\/tag': got number, want string/,
    ],
    [
      "with a text as number",
      { ...REQUIRED_VALUES, operator: { replicas: "2" } },
      /at '\/operator\/replicas': got string, want integer/,
    ],
    [
      "with a number as the value of a variable",
      { ...REQUIRED_VALUES, apiserver: { extraEnv: [{ name: "MARINA_LOG_LEVEL", value: 1 }] } },
      /extraEnv.*value.*want string/s,
    ],
  ])("%s", async (_, values, expected) => {
    expect(await findRefusal("marina", values)).toMatch(expected);
  });

  test("without anything, with one message that names all that is missing", async () => {
    const named = ["host", "image.repository", "oidc.issuers", "database.existingSecret"];
    const [, missing = ""] =
      /which cannot be guessed:\n((?: {2}\S+: .+\n)+)/.exec(await findRefusal("marina", {})) ?? [];
    expect(missing.match(/^ {2}[\w.]+/gm)?.map((name) => name.trim())).toEqual(named);
  });
});
