import { expect, test } from "vitest";
import { startTestApp } from "../../testing/app.ts";
import { issueWaiting, runCloses } from "../jobs.ts";
import { insertUsage, TEST_SUPPLIER as SUPPLIER } from "../testing.ts";

const PROFILE = { name: "Example Ltd", country: "DE", city: "Berlin" };
const at = (text: string) => new Date(`${text}Z`);

test("the calendar closes the month before at 06:00 UTC on the first, and not earlier", async () => {
  const api = await startTestApp();
  try {
    const invoicing = { supplier: SUPPLIER, vatBasisPoints: { DE: 1900 }, numberPrefix: "TEST" };
    api.deps.config = { ...api.deps.config, invoicing };
    const organizationId = await api.createOrganization();
    const base = `/api/v1/organizations/${organizationId}/billing`;
    await api.request("PUT", `${base}/profile`, { body: PROFILE });
    const startedAt = at("2026-01-10T00:00:00");
    await insertUsage(api.deps.db, { organizationId, startedAt, endedAt: at("2026-01-20T00:00:00") });
    const issued = async () => (await api.request("GET", `${base}/invoices`)).body.items.length;
    for (const [now, expected] of [
      ["2026-02-01T05:59:59", 0],
      ["2026-02-01T06:00:00", 1],
      ["2026-02-14T00:00:00", 1],
    ] as const) {
      api.deps.now = () => at(now);
      await runCloses(api.deps, new AbortController().signal);
      expect(await issued()).toBe(expected);
    }
  } finally {
    await api.close();
  }
});

test("an organization whose usage cannot be priced keeps no other one from its invoice", async () => {
  const api = await startTestApp();
  try {
    const invoicing = { supplier: SUPPLIER, vatBasisPoints: { DE: 1900 }, numberPrefix: "TEST" };
    api.deps.config = { ...api.deps.config, invoicing };
    api.deps.now = () => at("2026-02-01T06:00:00");
    const startedAt = at("2026-01-10T00:00:00");
    const bases: string[] = [];
    for (const resourceType of ["unpriced" as "vcpu", "vcpu"] as const) {
      const organizationId = await api.createOrganization();
      bases.push(`/api/v1/organizations/${organizationId}/billing`);
      await api.request("PUT", `${bases.at(-1)}/profile`, { body: PROFILE });
      await insertUsage(api.deps.db, { organizationId, startedAt, resourceType });
    }
    await expect(runCloses(api.deps, new AbortController().signal)).rejects.toThrow(
      "2026-01 is not closed for 1 organizations",
    );
    const lists = await Promise.all(bases.map((base) => api.request("GET", `${base}/invoices`)));
    expect(lists.map(({ body }) => body.items.length)).toEqual([0, 1]);
  } finally {
    await api.close();
  }
});

test("a waiting organization whose usage cannot be priced any more keeps no other one from its invoice", async () => {
  const api = await startTestApp();
  try {
    const invoicing = { supplier: SUPPLIER, vatBasisPoints: { DE: 1900 }, numberPrefix: "TEST" };
    api.deps.config = { ...api.deps.config, invoicing };
    api.deps.now = () => at("2026-02-01T06:00:00");
    const ids = [await api.createOrganization(), await api.createOrganization()];
    const usage = { startedAt: at("2026-01-10T00:00:00"), endedAt: at("2026-01-20T00:00:00") };
    for (const organizationId of ids) await insertUsage(api.deps.db, { ...usage, organizationId });
    await runCloses(api.deps, new AbortController().signal);
    const [first] = (await api.request("GET", "/api/v1/admin/billing/waiting-invoices", { as: "staff" })).body
      .items;
    await insertUsage(api.deps.db, {
      ...usage,
      organizationId: first.org_id,
      resourceType: "unpriced" as "vcpu",
    });
    for (const id of ids)
      await api.request("PUT", `/api/v1/organizations/${id}/billing/profile`, { body: PROFILE });
    await issueWaiting(api.deps, new AbortController().signal);
    for (const id of ids) {
      const { body } = await api.request("GET", `/api/v1/organizations/${id}/billing/invoices`);
      expect(body.items.length).toBe(id === first.org_id ? 0 : 1);
    }
  } finally {
    await api.close();
  }
});
