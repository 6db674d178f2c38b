import { execFile, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const AUTHOR = ["-c", "user.name=engineer", "-c", "user.email=engineer@example.com"];

export interface GitRepository {
  url: string;
  /** Changes a file of the branch main and publishes the change. */
  commit(path: string, change: (text: string) => string): Promise<void>;
  /** The commit that main is at. */
  revision(): Promise<string>;
  close(): Promise<void>;
}

/** Serves a repository with the files of `folder` by HTTP, as hosts of Git do (git-http-backend(1)). */
export async function serveRepository(folder: string): Promise<GitRepository> {
  const root = mkdtempSync(join(tmpdir(), "marina-git-"));
  const [bare, work] = [join(root, "clusters.git"), join(root, "work")];
  const git = (...args: string[]) => run("git", [...AUTHOR, "-C", work, ...args]);
  await run("git", ["init", "--quiet", "--bare", "--initial-branch=main", bare]);
  await run("git", ["clone", "--quiet", bare, work]);
  cpSync(folder, work, { recursive: true });
  const publish = async (message: string) => {
    await git("add", "--all");
    await git("commit", "--quiet", "--message", message);
    await git("push", "--quiet", "origin", "HEAD:main");
  };
  await publish("The clusters");
  const server = createServer((request, response) => answer(root, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/clusters.git`,
    async commit(path, change) {
      const file = join(work, path);
      writeFileSync(file, change(readFileSync(file, "utf8")));
      await publish(`A change of ${path}`);
    },
    revision: async () => (await git("rev-parse", "HEAD")).stdout.trim(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** One request by the CGI program of Git (RFC 3875). */
function answer(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? "", "http://git");
  const child = spawn("git", ["http-backend"], {
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  request.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stdout.on("end", () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf("\r\n\r\n");
    const headers = output
      .subarray(0, end)
      .toString("latin1")
      .split("\r\n")
      .map((line) => line.split(": "));
    const status = headers.find(([name]) => name === "Status")?.[1] ?? "200";
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name !== "Status")),
    );
    response.end(output.subarray(end + 4));
  });
}
