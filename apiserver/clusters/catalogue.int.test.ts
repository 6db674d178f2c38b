import { expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { createId } from "../../shared/program/id.ts";
import { startTestApp } from "../testing/app.ts";

const api = setUp(startTestApp);

test.each(["/api/v1/kubernetes-versions", "/api/v1/plans"])(
  "%s obeys limit and cursor, and refuses unknown parameters",
  async (path) => {
    const whole = await api.request("GET", path);
    expect(whole.body.items.length).toBeGreaterThan(1);
    expect(whole.body.next_cursor).toBeNull();
    const found: unknown[] = [];
    for (let cursor = ""; cursor !== "end"; ) {
      const page = await api.request("GET", `${path}?limit=1${cursor}`);
      expect(page.body.items).toHaveLength(1);
      found.push(...page.body.items);
      cursor = page.body.next_cursor === null ? "end" : `&cursor=${page.body.next_cursor}`;
    }
    expect(found).toEqual(whole.body.items);
    for (const query of ["limit=0", "limit=101", "limit=", "cursor=x", `cursor=${createId()}`, "page=2"])
      expect([query, (await api.request("GET", `${path}?${query}`)).status]).toEqual([query, 400]);
  },
);
