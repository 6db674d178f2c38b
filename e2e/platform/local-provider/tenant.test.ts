import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endOfPrefix, tenantOfKey } from "./etcd.ts";
import { createAuthority, createSigningKeys } from "./pki.ts";
import {
  areFilesGood,
  etcdPrefixOf,
  filesOf,
  firstAddressOf,
  hashOfAuthorities,
  idOf,
  SERVICE_CIDRS,
  tenantOf,
  writeTenantFiles,
} from "./tenant.ts";

test.each([
  { namespace: "org-1", name: "one" },
  { namespace: "org-0199", name: "one.with.dots" },
])("a tenant is found again by its id: $namespace $name", (tenant) => {
  expect(tenantOf(idOf(tenant))).toEqual(tenant);
});

test.each([
  ["10.96.0.0/16", "10.96.0.1"],
  ["10.96.3.7/16", "10.96.0.1"],
  ["172.17.1.128/25", "172.17.1.129"],
  ["fd00:1::/108", "fd00:1::1"],
])("the first address of %s is %s", (cidr, address) => {
  expect(firstAddressOf(cidr)).toBe(address);
});

test.each([
  ["/tenants/org-1/one/pods/default/a", { namespace: "org-1", name: "one" }],
  ["/tenants/org-1/one/", { namespace: "org-1", name: "one" }],
  ["/registry/pods/default/a", undefined],
  ["/tenants/org-1", undefined],
])("the key %s belongs to %o", (key, tenant) => {
  expect(tenantOfKey(key)).toEqual(tenant);
});

test.each([
  { key: "/tenants/org/one/pods/a", inside: true },
  { key: "/tenants/org/one/~", inside: true },
  { key: "/tenants/org/one-more/pods/a", inside: false },
  { key: "/tenants/org/one10/pods/a", inside: false },
  { key: "/tenants/org/on/pods/a", inside: false },
])("deleting the range of a tenant takes $key with it: $inside", ({ key, inside }) => {
  const prefix = `${etcdPrefixOf({ namespace: "org", name: "one" })}/`;
  expect(key >= prefix && key < endOfPrefix(prefix)).toBe(inside);
});

test("files are written again for another authority, another port, and certificates that are due for renewal", async () => {
  const runDir = mkdtempSync(join(tmpdir(), "tenant-"));
  const files = filesOf(runDir, { namespace: "org", name: "one" });
  const signing = await createSigningKeys();
  const authorities = {
    ca: await createAuthority("kubernetes"),
    proxy: await createAuthority("front-proxy"),
    serviceAccountKey: signing.key,
    serviceAccountPublicKey: signing.publicKey,
  };
  const now = new Date();
  const hash = hashOfAuthorities(authorities, 1234);
  expect(areFilesGood(files, hash, now)).toBe(false);
  await writeTenantFiles(files, authorities, { apiserverPort: 1234, serviceCIDRs: SERVICE_CIDRS }, now);
  expect(areFilesGood(files, hash, now)).toBe(true);
  expect(areFilesGood(files, hashOfAuthorities(authorities, 1235), now)).toBe(false);
  const other = { ...authorities, ca: await createAuthority("kubernetes") };
  expect(areFilesGood(files, hashOfAuthorities(other, 1234), now)).toBe(false);
  const later = new Date(now.getTime() + 300 * 24 * 3_600_000);
  expect(areFilesGood(files, hash, later)).toBe(false);
  rmSync(runDir, { recursive: true, force: true });
});
