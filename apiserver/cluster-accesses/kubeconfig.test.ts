import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { composeAccessKubeconfig } from "./issue.ts";

const ADMIN = `apiVersion: v1
kind: Config
clusters:
  - name: prod-x7k2p
    cluster: { server: "https://203.0.113.9:6443", certificate-authority-data: Q0E= }
users:
  - name: prod-x7k2p-admin
    user: { client-certificate-data: QURNSU4=, client-key-data: U0VDUkVU }
contexts: []
`;

test("a kubeconfig of one's own has the admin's address and CA, and nothing of the admin's credential", () => {
  const text = composeAccessKubeconfig("prod-x7k2p", ADMIN, {
    user: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
    certificate: "CERT",
    key: "KEY",
  });
  const user = "prod-x7k2p-0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01";
  expect(parse(text)).toEqual({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "prod-x7k2p",
        cluster: { server: "https://203.0.113.9:6443", "certificate-authority-data": "Q0E=" },
      },
    ],
    users: [{ name: user, user: { "client-certificate-data": "Q0VSVA==", "client-key-data": "S0VZ" } }],
    contexts: [{ name: "prod-x7k2p", context: { cluster: "prod-x7k2p", user } }],
    "current-context": "prod-x7k2p",
  });
});

test("a token stands in for a certificate where there is none", () => {
  const kubeconfig = composeAccessKubeconfig("prod-x7k2p", ADMIN, { user: "u", token: "abc" });
  expect(parse(kubeconfig).users).toEqual([{ name: "prod-x7k2p-u", user: { token: "abc" } }]);
});

/** Parts of numbers, dates, booleans, comments and other things that YAML has a meaning for. */
const likeYaml = fc.oneof(
  fc.string({
    unit: fc.constantFrom(...Array.from("0123456789.eExXo_:+-#~ nulyestrfa'\"{}[]&*!|>%@`,?\\\n\t")),
    maxLength: 12,
  }),
  fc.constantFrom(
    "null",
    "~",
    "true",
    "no",
    "on",
    "y",
    "0x1f",
    "0o17",
    "1e3",
    "1_000",
    "12:30:45",
    ".inf",
    ".nan",
  ),
);

test.each(["1.1", "1.2"] as const)(
  "every name survives a parser of YAML %s, whatever it looks like",
  (version) => {
    fc.assert(
      fc.property(likeYaml, likeYaml, (name, token) => {
        const read = parse(composeAccessKubeconfig(name, ADMIN, { user: "u", token }), { version });
        expect(read["current-context"]).toBe(name);
        expect(read.clusters[0].name).toBe(name);
        expect(read.users[0].user.token).toBe(token);
      }),
    );
  },
);

test("an admin kubeconfig of another form is no basis for one", () => {
  expect(() =>
    composeAccessKubeconfig("x", "kind: Config\n", { user: "u", certificate: "", key: "" }),
  ).toThrow("clusters");
});
