import { expect, test } from "vitest";
import { attachment } from "./attachment.ts";

test.each([
  ["production", "production-kubeconfig.yaml"],
  ["my cluster", "my-cluster-kubeconfig.yaml"],
  ["../../etc/passwd", "etc-passwd-kubeconfig.yaml"],
  ['a"; filename=evil.exe; x="', "a-filename-evil.exe-x-kubeconfig.yaml"],
  [".hidden", "hidden-kubeconfig.yaml"],
  ["///", "kubeconfig.yaml"],
])("the file of %j is %s", (record, name) => {
  expect(attachment(record, "kubeconfig.yaml")).toBe(`attachment; filename=${name}`);
});

test("letters beyond ASCII are kept in filename*, and nothing else is", () => {
  expect(attachment("Zürich 日本/\u202Egpj", "k.yaml")).toBe(
    "attachment; filename=\"Z?rich-??-gpj-k.yaml\"; filename*=UTF-8''Z%C3%BCrich-%E6%97%A5%E6%9C%AC-gpj-k.yaml",
  );
});
