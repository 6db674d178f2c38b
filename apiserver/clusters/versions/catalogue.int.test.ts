import { afterAll, beforeAll, expect, test } from "vitest";
import { createId } from "../../../shared/id.ts";
import { startTestApp, type TestApp } from "../../testing/app.ts";

let api: TestApp;

beforeAll(async () => {
  api = await startTestApp();
});
afterAll(() => api.close());

test.each(["/api/v1/kubernetes-versions", "/api/v1/plans"])(
  "%s is one page, whatever page is requested; unknown parameters are refused (section 2.0)",
  async (path) => {
    const whole = await api.request("GET", path);
    expect(whole.body.items.length).toBeGreaterThan(1);
    expect(whole.body.next_cursor).toBeNull();
    for (const query of ["limit=1", "limit=100", `cursor=${createId()}`])
      expect((await api.request("GET", `${path}?${query}`)).body).toEqual(whole.body);
    for (const query of ["limit=0", "limit=101", "limit=", "cursor=x", "page=2"])
      expect([query, (await api.request("GET", `${path}?${query}`)).status]).toEqual([query, 400]);
  },
);
