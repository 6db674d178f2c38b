import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  createAuthority,
  createSigningKeys,
  isDueForRenewal,
  isPair,
  isSignedBy,
  issueCertificate,
} from "./pki.ts";

const DAY_MS = 24 * 3_600_000;

describe("certificates of a tenant cluster", () => {
  test("a serving certificate is signed by its authority and names its addresses", async () => {
    const authority = await createAuthority("one");
    const subject = { commonName: "kube-apiserver", ips: ["127.0.0.1"], dnsNames: ["localhost"] };
    const { certificate } = await issueCertificate(authority, subject);
    const parsed = new X509Certificate(certificate);
    expect(isSignedBy(certificate, authority.certificate)).toBe(true);
    expect(parsed.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(parsed.checkHost("localhost")).toBe("localhost");
  });

  test("a certificate of another authority is detected", async () => {
    const [one, other] = await Promise.all([createAuthority("same"), createAuthority("same")]);
    const { certificate } = await issueCertificate(other, { commonName: "admin" });
    expect(isSignedBy(certificate, one.certificate)).toBe(false);
  });

  test("a certificate of another key is no pair", async () => {
    const [one, other] = await Promise.all([createAuthority("same"), createAuthority("same")]);
    expect(isPair(one)).toBe(true);
    expect(isPair({ ...one, certificate: other.certificate })).toBe(false);
    expect(isPair({ certificate: "nonsense", key: one.key })).toBe(false);
  });

  test("a client certificate carries user and groups", async () => {
    const authority = await createAuthority("one");
    const { certificate } = await issueCertificate(authority, {
      commonName: "kubernetes-admin",
      organizations: ["system:masters"],
    });
    expect(new X509Certificate(certificate).subject).toBe("O=system:masters\nCN=kubernetes-admin");
  });

  test.each([
    { days: 0, due: false },
    { days: 240, due: false },
    { days: 250, due: true },
    { days: 400, due: true },
  ])("a certificate of a year is due for renewal after $days days: $due", async ({ days, due }) => {
    const { certificate } = await issueCertificate(await createAuthority("one"), { commonName: "admin" });
    expect(isDueForRenewal(certificate, new Date(Date.now() + days * DAY_MS))).toBe(due);
  });

  test("signing keys are a pair in PEM", async () => {
    const keys = await createSigningKeys();
    expect(keys.publicKey).toContain("BEGIN PUBLIC KEY");
    expect(keys.key).toContain("BEGIN PRIVATE KEY");
  });
});
