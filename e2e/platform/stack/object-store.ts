import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PINNED_DIR } from "./go-module.ts";
import { type PinnedTool, pathOfGoTool } from "./go-tool.ts";
import type { Ports } from "./ports.ts";
import { requireOpenPort } from "./probes.ts";
import type { Secrets } from "./secrets.ts";
import type { ProcessNode } from "./supervisor.ts";

/** An S3 server and the bucket of attachments in it, as the API server's configuration names them. */
export interface ObjectStoreInfo {
  endpoint: string;
  region: string;
  bucket: string;
  pathStyle: boolean;
  accessKeyId: string;
  secretAccessKey: string;
}

interface Run {
  dir: string;
  ports: Ports;
  secrets: Secrets;
}

const ACCESS_KEY_ID = "marina";

/** The S3 server's program. */
export const OBJECT_STORE: PinnedTool = {
  name: "versitygw",
  goPackage: "github.com/versity/versitygw/cmd/versitygw",
  moduleDir: PINNED_DIR,
  module: "github.com/versity/versitygw",
};

/** The store of a run directory; whether it is there yet is another question. */
export function objectStoreOf({ ports, secrets }: Omit<Run, "dir">): ObjectStoreInfo {
  return {
    endpoint: `http://127.0.0.1:${ports["object-store"]}`,
    region: "us-east-1",
    bucket: "marina-attachments",
    pathStyle: true,
    accessKeyId: ACCESS_KEY_ID,
    secretAccessKey: secrets.objectStoreKey,
  };
}

/** An S3 server on a folder. The stack is ready without it: at the first start its program is built afterwards. */
export function objectStoreNode(run: Run): ProcessNode {
  const port = run.ports["object-store"] ?? 0;
  return {
    name: "object-store",
    after: [],
    async process() {
      const { bucket, region, accessKeyId, secretAccessKey } = objectStoreOf(run);
      const home = join(run.dir, "object-store");
      const [buckets, metadata] = [join(home, "buckets"), join(home, "metadata")];
      mkdirSync(join(buckets, bucket), { recursive: true });
      mkdirSync(metadata, { recursive: true });
      return {
        command: await pathOfGoTool(OBJECT_STORE),
        // Not every file system has extended attributes: the metadata of objects is kept in a separate folder.
        args: ["--port", `127.0.0.1:${port}`, "--region", region, "posix", "--sidecar", metadata, buckets],
        env: { ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey },
        probe: () => requireOpenPort(port),
        stopTimeoutMs: 2000,
      };
    },
  };
}
