import fc from "fast-check";

/** As the operator issues it. */
export const ADMIN_KUBECONFIG = `apiVersion: v1
kind: Config
clusters:
  - name: prod-x7k2p
    cluster: { server: "https://203.0.113.9:6443", certificate-authority-data: Q0E= }
users:
  - name: prod-x7k2p-admin
    user: { client-certificate-data: QURNSU4=, client-key-data: U0VDUkVU }
contexts: []
`;

/** Parts of numbers, dates, booleans, comments and other things that YAML has a meaning for. */
export const anyOddText = fc.oneof(
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
