import { Hono } from "hono";
import { expect, test } from "vitest";
import { ApiError } from "../errors.ts";
import { acceptedType, attachment, JSON_TYPE } from "./download.ts";

const app = new Hono().get("/", (c) => c.text(acceptedType(c, [JSON_TYPE, "text/csv", "application/pdf"])));
const FOCUS = "text/csv;profile=focus-1.0";
const FORMS = [JSON_TYPE, "text/csv", FOCUS] as const;
const profiled = new Hono()
  .get("/", (c) => c.text(acceptedType(c, FORMS)))
  .get("/open", (c) => c.text(acceptedType(c, FORMS, { form: FOCUS, why: "The month is open." })))
  .onError((error, c) => {
    const { status, message } = error instanceof ApiError ? error : new ApiError("internal", String(error));
    return c.text(message, status);
  });

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
  [`text/csv${",a".repeat(510)}`, JSON_TYPE],
  [",;q=,;;/", JSON_TYPE],
])("Accept: %s is answered with %s", async (accept, type) => {
  const headers = accept === undefined ? undefined : { accept };
  const response = await app.request("/", { ...(headers && { headers }) });
  expect(await response.text()).toBe(type);
});

test.each([
  [FOCUS, FOCUS],
  ["Text/CSV; charset=utf-8; Profile=focus-1.0", FOCUS],
  ['text/csv; profile="focus-1.0"', FOCUS],
  [`application/json;q=0.5, ${FOCUS}`, FOCUS],
  [`${FOCUS};q=0.5, application/json`, JSON_TYPE],
  [`${FOCUS}, text/csv;q=0.5`, FOCUS],
  ["text/csv", "text/csv"],
  ["text/csv;profile=", "text/csv"],
  ["text/*", "text/csv"],
  ["text/csv;q=0, text/*", JSON_TYPE],
  ["text/csv;profile=focus-9, text/csv;q=0.1", "text/csv"],
  ["text/csv;profile=focus-9, application/json;q=0.1", JSON_TYPE],
  ["text/csv;profile=focus-9, */*;q=0.1", JSON_TYPE],
  ["text/csv;profile=focus-9;q=0", JSON_TYPE],
  ["application/json;profile=focus-9", JSON_TYPE],
  ["image/png;profile=focus-1.0", JSON_TYPE],
])("where a form has a profile, Accept: %s is answered with %s", async (accept, type) => {
  const response = await profiled.request("/", { headers: { accept } });
  expect(await response.text()).toBe(type);
});

test.each([
  [`${FOCUS}, application/json;q=0.1`, JSON_TYPE],
  [`${FOCUS}, text/csv;q=0.1`, "text/csv"],
  [`${FOCUS}, text/*;q=0.1`, "text/csv"],
  [`${FOCUS}, */*;q=0.1`, JSON_TYPE],
  ["text/csv", "text/csv"],
  [`${FOCUS};q=0`, JSON_TYPE],
])("where a form is missing for now, Accept: %s is answered with %s", async (accept, type) => {
  const response = await profiled.request("/open", { headers: { accept } });
  expect(await response.text()).toBe(type);
});

test.each([FOCUS, `${FOCUS}, image/png`])(
  "a missing form alone, as by Accept: %s, is 406 with the reason",
  async (accept) => {
    const response = await profiled.request("/open", { headers: { accept } });
    expect(response.status).toBe(406);
    expect(await response.text()).toBe("The month is open. Offered: application/json, text/csv.");
  },
);

test.each([
  ["text/csv", 406],
  ["text/csv, application/json;q=0.5", 200],
  ["*/*", 200],
])("of a file that is missing, Accept: %s is %i", async (accept, status) => {
  const app = new Hono()
    .onError((error, c) => c.text(error.message, error instanceof ApiError ? error.status : 500))
    .get("/", (c) =>
      c.text(acceptedType(c, [JSON_TYPE, "text/csv"], { form: "text/csv", why: "It is large." })),
    );
  const response = await app.request("/", { headers: { accept } });
  expect(response.status).toBe(status);
  expect(await response.text()).toBe(status === 200 ? JSON_TYPE : "It is large. Offered: application/json.");
});

test.each([
  "text/csv;profile=focus-9",
  "text/csv;profile=FOCUS-1.0",
  'text/csv;profile="focus-1.0, focus-1.1"',
  "text/csv;profile=focus-1.1, image/png",
  "TEXT/CSV;PROFILE=https://focus.finops.org/1.0",
])("Accept: %s alone is 406 with what is offered", async (accept) => {
  const response = await profiled.request("/", { headers: { accept } });
  expect(response.status).toBe(406);
  expect(await response.text()).toContain(`Offered: application/json, text/csv, ${FOCUS}.`);
});

test.each([
  ["production", "production-kubeconfig.yaml"],
  ["my cluster", "my-cluster-kubeconfig.yaml"],
  ["../../etc/passwd", "etc-passwd-kubeconfig.yaml"],
  ['a"; filename=evil.exe; x="', "a-filename-evil.exe-x-kubeconfig.yaml"],
  [".hidden", "hidden-kubeconfig.yaml"],
  ["///", "kubeconfig.yaml"],
  ["a\u200d\u200d\u202eb\u200d", "a-b-kubeconfig.yaml"],
])("the file of %j is %s", (record, name) => {
  expect(attachment(record, "kubeconfig.yaml")).toBe(`attachment; filename=${name}`);
});

test.each(["می\u200cخواهم", "क्\u200dष"])("the joiner of %j is kept in filename*", (record) => {
  expect(attachment(record, "k.yaml")).toContain(`filename*=UTF-8''${encodeURIComponent(record)}-k.yaml`);
});

test("letters beyond ASCII are kept in filename*, and nothing else is", () => {
  expect(attachment("Zürich 日本/\u202Egpj", "k.yaml")).toBe(
    "attachment; filename=\"Z?rich-??-gpj-k.yaml\"; filename*=UTF-8''Z%C3%BCrich-%E6%97%A5%E6%9C%AC-gpj-k.yaml",
  );
});
