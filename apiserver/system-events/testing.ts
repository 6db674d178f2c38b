import type { TestApp } from "../http/testing.ts";
import type { NewStatusEvent } from "./store.ts";

/** A stream that is read as long as it lasts. */
export interface TestStream {
  status: number;
  headers: Headers;
  /** The messages so far, comments left out. */
  messages: { event: string; id: number | undefined; data: Record<string, unknown> }[];
  ended: Promise<void>;
  close(): Promise<void>;
}

/** Opens a stream with these headers alone. Whatever the answer is, its status says. */
export async function openStream(
  { app }: Pick<TestApp, "app">,
  path: string,
  headers: Record<string, string> = {},
): Promise<TestStream> {
  const response = await app.request(path, { headers });
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("no body");
  const messages: TestStream["messages"] = [];
  return {
    status: response.status,
    headers: response.headers,
    messages,
    ended: readAll(reader, messages),
    close: () => reader.cancel(),
  };
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>, messages: TestStream["messages"]) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1];
      const event = field("event");
      if (event === undefined) continue;
      const id = field("id");
      messages.push({
        event,
        id: id === undefined ? undefined : Number(id),
        data: JSON.parse(field("data") ?? "null"),
      });
    }
  }
}

/** A change of status of a cluster, as the projector writes it. */
export function aStatus(clusterId: string, status: string): NewStatusEvent {
  const payload = { status, previousStatus: null, message: null, at: new Date().toISOString() };
  return { kind: "status", clusterId, nodePoolId: null, payload };
}
