import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { ensureTools } from "../../platform/stack/tools.ts";

const CHART = join(import.meta.dirname, "..", "..", "..", "charts", "marina");

/** A text that no reader of YAML takes for anything else. */
const PLAIN = "plain";

/** Values that are text, whatever they look like. */
const TEXT_VALUES = [
  "database.existingSecret",
  "database.urlKey",
  "database.ownerUrlKey",
  "webhooks.existingSecret",
  "webhooks.keysKey",
  "attachments.existingSecret",
  "attachments.storeKey",
  "registry.existingSecret",
  "registry.configKey",
  "caBundleConfigMap",
  "apiserver.priorityClassName",
  "operator.priorityClassName",
  "scanner.priorityClassName",
  "ingress.className",
  "ingress.tlsSecret",
  "image.tag",
];
const OTHERS = [
  "host=api.example.com",
  "oidc.issuers[0].issuer=https://id.example.com",
  "oidc.issuers[0].audience=marina",
  "ingress.enabled=true",
  "monitoring.enabled=true",
];

/** The chart with this text as the release's name, its namespace and every text of the values. */
async function render(text: string): Promise<string> {
  const tools = await ensureTools(["helm"], new AbortController().signal);
  const values = [
    ...TEXT_VALUES.flatMap((name) => ["--set-string", `${name}=${text}`]),
    ...OTHERS.flatMap((value) => ["--set", value]),
  ];
  const args = ["template", text, CHART, "--namespace", text, ...values];
  const { stdout } = await promisify(execFile)(tools.path("helm"), args, { maxBuffer: 16 * 1024 * 1024 });
  return stdout;
}

/** The objects as JSON, in order. helm and kubectl read numbers and booleans of YAML 1.1, others those of 1.2. */
function read(yaml: string, version: "1.1" | "1.2"): string[] {
  return parseAllDocuments(yaml, { version }).map((document) => JSON.stringify(document.toJS()));
}

let plain: string;
beforeAll(async () => {
  plain = await render(PLAIN);
});

test.each(["123", "1e3", "0x1f", "0o17", "017", "true", "null", "no", "on", "y", "12e03"])(
  "a release, a namespace and values named %s are text wherever the chart writes them",
  async (text) => {
    const rendered = await render(text);
    for (const version of ["1.1", "1.2"] as const) {
      const expected = read(plain, version).map((object) => object.replaceAll(PLAIN, text));
      expect(read(rendered, version).sort()).toEqual(expected.sort());
    }
  },
);
