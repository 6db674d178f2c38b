import { expect, test } from "vitest";
import { attachment } from "./attachment.ts";

test.each([
  ["production.yaml", 'attachment; filename="production.yaml"'],
  ["my cluster.yaml", "attachment; filename=\"my-cluster.yaml\"; filename*=UTF-8''my%20cluster.yaml"],
  ["日本.yaml", "attachment; filename=\"yaml\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.yaml"],
  ['a"; x="b', "attachment; filename=\"a-x-b\"; filename*=UTF-8''a%22%3B%20x%3D%22b"],
  [
    "a\r\nSet-Cookie: b",
    "attachment; filename=\"a-Set-Cookie-b\"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20b",
  ],
  ["../(it's)*", "attachment; filename=\"it-s-\"; filename*=UTF-8''..%2F%28it%27s%29%2A"],
  ["\ud800", "attachment; filename=\"\"; filename*=UTF-8''%EF%BF%BD"],
])("%j is told in a header that can be sent", (name, header) => {
  expect(attachment(name)).toBe(header);
  expect(new Headers({ "Content-Disposition": header }).get("content-disposition")).toBe(header);
});

test("the longest name of a cluster stays within what the document says", () => {
  expect(attachment(`${"\u{1F600}".repeat(63)}-kubeconfig.yaml`).length).toBeLessThanOrEqual(1024);
});
