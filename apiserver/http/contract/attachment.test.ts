import { expect, test } from "vitest";
import { attachment } from "./attachment.ts";

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
