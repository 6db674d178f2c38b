import { Hono } from "hono";
import { expect, test } from "vitest";
import { acceptedType, JSON_TYPE } from "./accepted-type.ts";

const app = new Hono().get("/", (c) => c.text(acceptedType(c, [JSON_TYPE, "text/csv", "application/pdf"])));

test.each([
  [undefined, JSON_TYPE],
  ["", JSON_TYPE],
  ["*/*", JSON_TYPE],
  ["application/*", JSON_TYPE],
  ["text/csv", "text/csv"],
  ["Text/CSV; header=present", "text/csv"],
  ["text/*", "text/csv"],
  ["text/csv;q=0.5, application/pdf", "application/pdf"],
  ["application/pdf, application/json", "application/pdf"],
  ["application/json, application/pdf", JSON_TYPE],
  ["image/png, text/csv;q=0.1, */*;q=0.01", "text/csv"],
  ["text/csv;q=0", JSON_TYPE],
  ["image/png", JSON_TYPE],
  [",;q=,;;/", JSON_TYPE],
])("Accept: %s is answered with %s", async (accept, type) => {
  const headers = accept === undefined ? undefined : { accept };
  const response = await app.request("/", { ...(headers && { headers }) });
  expect(await response.text()).toBe(type);
});
