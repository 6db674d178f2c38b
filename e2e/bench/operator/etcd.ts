import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Pool } from "undici";

const CONNECTIONS = 6;
/** etcd takes 128 operations in one transaction, and 1.5 MB. */
const MAX_OPERATIONS = 100;
const MAX_BYTES = 700_000;

interface Put {
  requestPut: { key: string; value: string };
}

/** Puts every line ("key, tab, value") of the stream into etcd, by its JSON gateway. Returns how many. */
export async function putLines(etcdUrl: string, lines: Readable): Promise<number> {
  const pool = new Pool(etcdUrl, { connections: CONNECTIONS });
  const under = new Set<Promise<void>>();
  let batch: Put[] = [];
  let bytes = 0;
  let count = 0;

  async function send(puts: Put[]): Promise<void> {
    const { statusCode, body } = await pool.request({
      method: "POST",
      path: "/v3/kv/txn",
      body: JSON.stringify({ success: puts }),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`etcd answers ${statusCode}: ${text.slice(0, 200)}`);
  }

  async function flush(): Promise<void> {
    if (batch.length === 0) return;
    if (under.size >= CONNECTIONS) await Promise.race(under);
    const sending: Promise<void> = send(batch).finally(() => under.delete(sending));
    under.add(sending);
    count += batch.length;
    [batch, bytes] = [[], 0];
  }

  try {
    for await (const line of createInterface({ input: lines })) {
      const tab = line.indexOf("\t");
      const value = Buffer.from(line.slice(tab + 1)).toString("base64");
      batch.push({ requestPut: { key: Buffer.from(line.slice(0, tab)).toString("base64"), value } });
      bytes += value.length;
      if (batch.length >= MAX_OPERATIONS || bytes >= MAX_BYTES) await flush();
    }
    await flush();
    await Promise.all(under);
    return count;
  } finally {
    await pool.close();
  }
}

/** The code that a child process ends with. */
export async function exitCodeOf(child: NodeJS.EventEmitter & { exitCode: number | null }): Promise<number> {
  if (child.exitCode !== null) return child.exitCode;
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? -1;
}
