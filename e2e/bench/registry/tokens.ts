import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { readCpuSeconds } from "../../platform/programs/proc.ts";
import { percentile } from "../measure.ts";
import { report } from "../report.ts";
import type { RegistryBench } from "./images.ts";

const PER_SECOND = 300;
const WARM_UP = 3000;
const REQUESTS = 6000;

/**
 * Tokens for pulling and pushing, 300 a second whatever the responses take: their latency, and the CPU of the API
 * server.
 */
export async function benchTokens({ info, orgId, token }: RegistryBench): Promise<void> {
  const pool = new Pool(info.apiUrl, { connections: 64 });
  const authorization = `Basic ${Buffer.from(`ci:${token}`).toString("base64")}`;
  const path = `/registry/token?service=marina-registry&scope=repository:org-${orgId}/web:pull,push`;
  const request = async (): Promise<number> => {
    const sentAt = performance.now();
    const { statusCode, body } = await pool.request({ method: "GET", path, headers: { authorization } });
    await body.dump();
    if (statusCode !== 200) throw new Error(`GET ${path}: status ${statusCode}`);
    return performance.now() - sentAt;
  };
  try {
    await sendAtRate(WARM_UP, request);
    const pid = info.processes.apiserver?.pid ?? 0;
    const [startedAt, cpu] = [performance.now(), readCpuSeconds(pid)];
    const times = await sendAtRate(REQUESTS, request);
    const seconds = (performance.now() - startedAt) / 1000;
    report(`registry: ${PER_SECOND} tokens a second`, [
      { name: "tokens a second", value: times.length / seconds, unit: "", atLeast: PER_SECOND * 0.98 },
      { name: "CPU of the API server", value: (readCpuSeconds(pid) - cpu) / seconds, unit: "core", limit: 1 },
      { name: "p50", value: percentile(times, 0.5), unit: "ms" },
      { name: "p99", value: percentile(times, 0.99), unit: "ms", limit: 50 },
    ]);
  } finally {
    await pool.close();
  }
}

async function sendAtRate(count: number, request: () => Promise<number>): Promise<number[]> {
  const startedAt = performance.now();
  const sent: Promise<number>[] = [];
  while (sent.length < count) {
    const due = Math.min(count, Math.ceil(((performance.now() - startedAt) / 1000) * PER_SECOND));
    while (sent.length < due) {
      const response = request();
      // It fails below, with all others; without a handler until then the process would end, and leave the stack
      // running.
      response.catch(() => undefined);
      sent.push(response);
    }
    await sleep(2);
  }
  return Promise.all(sent);
}
