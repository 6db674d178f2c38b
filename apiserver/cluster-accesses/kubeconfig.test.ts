import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { composeAccessKubeconfig } from "./issue.ts";
import { ADMIN_KUBECONFIG, anyOddText } from "./testing-kubeconfig.ts";

test("a kubeconfig of one's own has the admin's address and CA, and nothing of the admin's credential", () => {
  const text = composeAccessKubeconfig("prod-x7k2p", ADMIN_KUBECONFIG, {
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
  const kubeconfig = composeAccessKubeconfig("prod-x7k2p", ADMIN_KUBECONFIG, { user: "u", token: "abc" });
  expect(parse(kubeconfig).users).toEqual([{ name: "prod-x7k2p-u", user: { token: "abc" } }]);
});

test.each(["1.1", "1.2"] as const)(
  "every name survives a parser of YAML %s, whatever it looks like",
  (version) => {
    fc.assert(
      fc.property(anyOddText, anyOddText, (name, token) => {
        const read = parse(composeAccessKubeconfig(name, ADMIN_KUBECONFIG, { user: "u", token }), {
          version,
        });
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
