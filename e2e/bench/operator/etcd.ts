import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Pool } from "undici";

const CONNECTIONS = 6;
/** etcd accepts 128 operations and 1.5 MB in one transaction. */
const MAX_OPERATIONS = 100;
const MAX_BYTES = 700_000;

/** A key and its value, in base64. */
interface Put {
  key: string;
  value: string;
}

/** Placeholder in a value: the revision (resourceVersion) of the object of another key. */
const REVISION = /\{revision of ([^}]+)\}/g;

/**
 * Puts every line ("key, tab, value") of the stream into etcd, by its JSON gateway; lines with the revision of another
 * key come last. Returns the number of lines.
 */
export async function putLines(etcdUrl: string, lines: Readable): Promise<number> {
  const pool = new Pool(etcdUrl, { connections: CONNECTIONS });
  const under = new Set<Promise<void>>();
  const revisions = new Map<string, string>();
  const waiting: string[] = [];
  let batch: Put[] = [];
  let bytes = 0;
  let count = 0;

  async function send(puts: Put[]): Promise<void> {
    const { statusCode, body } = await pool.request({
      method: "POST",
      path: "/v3/kv/txn",
      body: JSON.stringify({ success: puts.map((put) => ({ requestPut: put })) }),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`etcd responds with ${statusCode}: ${text.slice(0, 200)}`);
    const { header } = JSON.parse(text) as { header: { revision: string } };
    for (const { key } of puts) revisions.set(decode(key), header.revision);
  }

  async function flush(): Promise<void> {
    if (batch.length === 0) return;
    if (under.size >= CONNECTIONS) await Promise.race(under);
    const sending: Promise<void> = send(batch).finally(() => under.delete(sending));
    under.add(sending);
    count += batch.length;
    [batch, bytes] = [[], 0];
  }

  function revisionOf(key: string): string {
    const revision = revisions.get(key);
    if (revision === undefined) throw new Error(`${key} was not stored before its revision was asked for`);
    return revision;
  }

  async function put(line: string): Promise<void> {
    const tab = line.indexOf("\t");
    const value = encode(line.slice(tab + 1));
    batch.push({ key: encode(line.slice(0, tab)), value });
    bytes += value.length;
    if (batch.length >= MAX_OPERATIONS || bytes >= MAX_BYTES) await flush();
  }

  async function finish(): Promise<void> {
    await flush();
    await Promise.all(under);
  }

  try {
    for await (const line of createInterface({ input: lines })) {
      if (line.search(REVISION) >= 0) waiting.push(line);
      else await put(line);
    }
    await finish();
    for (const line of waiting) await put(line.replace(REVISION, (_, key: string) => revisionOf(key)));
    await finish();
    return count;
  } finally {
    await pool.close();
  }
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}

/** The exit code of a child process. */
export async function exitCodeOf(child: NodeJS.EventEmitter & { exitCode: number | null }): Promise<number> {
  if (child.exitCode !== null) return child.exitCode;
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? -1;
}
