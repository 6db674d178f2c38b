/**
 * The lines of a byte stream without their newline; a last line without newline is included. Calls `onIdle`, which must
 * end the stream, when no byte arrives for `idleTimeoutMs` while a line is awaited.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  idleTimeoutMs: number,
  onIdle: () => void,
): AsyncGenerator<string> {
  const iterator = chunks[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const timer = setTimeout(onIdle, idleTimeoutMs);
      const { done, value } = await iterator.next().finally(() => clearTimeout(timer));
      if (done) break;
      const parts = decoder.decode(value, { stream: true }).split("\n");
      parts[0] = rest + parts[0];
      rest = parts.pop() ?? "";
      yield* parts.filter((line) => line !== "");
    }
    rest += decoder.decode();
    if (rest !== "") yield rest;
  } finally {
    await iterator.return?.();
  }
}
