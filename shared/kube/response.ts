import type { Dispatcher } from "undici";
import { KubeError } from "./errors.ts";

export interface TransportResponse {
  status: number;
  headers: Record<string, string>;
  /** Parsed JSON, or the text when it is not JSON. */
  body: unknown;
}

type Body = Dispatcher.ResponseData["body"];

/** The status, the headers and the parsed body of a response, by default however large it is. */
export async function readResponse(
  response: Dispatcher.ResponseData,
  readBody = (body: Body) => body.text(),
): Promise<TransportResponse> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  const text = await readBody(response.body);
  return { status: response.statusCode, headers, body: parseBody(text, headers["content-type"]) };
}

/** Reads bodies until all of them together are too large: a KubeError then, reason "TooLarge". */
export function createBodyReader(maxTotalBytes: number): (body: Body) => Promise<string> {
  let left = maxTotalBytes;
  return async (body) => {
    const chunks: Buffer[] = [];
    for await (const chunk of body as AsyncIterable<Buffer>) {
      left -= chunk.length;
      if (left < 0) {
        const kubeMessage = `the responses are larger than ${maxTotalBytes} bytes together`;
        throw new KubeError({ status: 0, reason: "TooLarge", kubeMessage });
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString();
  };
}

function parseBody(text: string, contentType: string | undefined): unknown {
  if (!contentType?.includes("json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text; // Truncated or mislabelled: the caller's error shows the text.
  }
}
