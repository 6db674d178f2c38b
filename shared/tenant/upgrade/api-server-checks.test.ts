import { expect, test } from "vitest";
import { findEnding } from "./api-server-checks.ts";

const NOW = new Date("2026-11-28T12:00:00Z");
const fromNow = (days: number) => new Date(NOW.getTime() + days * 24 * 3600 * 1000);
/** A certificate that lives for so many days, of which some are left. */
const aCertificate = (left: number, life = 365) => ({
  validFromDate: fromNow(left - life),
  validToDate: fromNow(left),
});

type Certificates = Parameters<typeof findEnding>[0];
const ofAuthority = (...left: number[]): Certificates => ({
  authorities: left.map((days) => aCertificate(days, 3650)),
  server: undefined,
});
const ofServer = (left: number, life?: number): Certificates => ({
  authorities: [aCertificate(3000, 3650)],
  server: aCertificate(left, life),
});

test.each<[string, Certificates, string[]]>([
  ["an authority that ends in 61 days is not", ofAuthority(61), []],
  ["an authority that ends in 60 days is", ofAuthority(60), ["certificate-authority"]],
  ["the first of two authorities that end is, once", ofAuthority(3000, 20), ["certificate-authority"]],
  ["no authority is", ofAuthority(), []],
  ["a server's of a year that ends in 61 days is not", ofServer(61), []],
  ["a server's of a year that ends in 60 days is", ofServer(60), ["kube-apiserver"]],
  ["a server's of 90 days with 30 left is renewed in time", ofServer(30, 90), []],
  ["a server's of 90 days with 22 left is overdue", ofServer(22, 90), ["kube-apiserver"]],
  ["a server's of a day that was issued an hour ago is not", ofServer(23 / 24, 1), []],
])("of the certificates that end soon, %s", (_name, certificates, expected) => {
  const checks = findEnding(certificates, NOW);
  expect(checks.map(({ object }) => object.name)).toEqual(expected);
});

test("a certificate that ends soon is a warning that names its day", () => {
  const object = { kind: "Certificate", namespace: null, name: "certificate-authority" };
  const message = expect.stringContaining("ends on 2026-12-18");
  expect(findEnding(ofAuthority(20), NOW)).toEqual([
    expect.objectContaining({ check: "certificate_ends", severity: "warning", object, message }),
  ]);
});
