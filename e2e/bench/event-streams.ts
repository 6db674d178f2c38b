import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";

const END_OF_CHUNK = Buffer.from("\n\n\r\n");
const MARK = Buffer.from('"message":"t=');
const ID_LINE = Buffer.from("\nid: ");
/** The retry delay that the stream sends to its clients. */
const RETRY_MS = 3000;
const STAMP_DIGITS = 13;
const NUMBER_DIGITS = 8;
/** Between the stamp and the number: ` n=`. */
const NUMBER_OFFSET = MARK.length + STAMP_DIGITS + 3;

/** A request, one line of JSON on standard input; each gets a line of JSON on standard output. */
type Order =
  | { do: "open"; port: number; token: string; streams: { path: string; clusterId: string }[] }
  | { do: "stall"; port: number; token: string; paths: string[] }
  | { do: "sever" }
  | { do: "reopen" }
  /** Whether every stream is open and has received this many events of its cluster. */
  | { do: "seen"; counts: Record<string, number> }
  | { do: "figures" };

interface Stream {
  path: string;
  clusterId: string;
  socket: Socket | undefined;
  isOpen: boolean;
  rest: Buffer;
  lastId: number;
  lastNumber: number;
}

/**
 * Thousands of streams at low cost: bare sockets, events found by a marker and never parsed. Counts missing and
 * duplicate events by the numbers in the messages; `npm run bench events` runs it.
 */
const streams: Stream[] = [];
const stalled: Socket[] = [];
let target = { port: 0, token: "" };
let latencies: number[] = [];
let missing = 0;
let doubled = 0;
let refused = 0;
let broken = 0;
let retried = 0;
let isSevering = false;

function open(stream: Stream): void {
  const socket = connect(target.port, "127.0.0.1");
  stream.socket = socket;
  stream.isOpen = false;
  stream.rest = Buffer.alloc(0);
  const position = stream.lastId === 0 ? "" : `Last-Event-ID: ${stream.lastId}\r\n`;
  socket.write(requestOf(stream.path, position));
  socket.on("data", (data) => read(stream, data));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    if (stream.socket !== socket || isSevering) return;
    if (stream.isOpen) broken += 1;
    else retried += 1;
    stream.isOpen = false;
    setTimeout(() => open(stream), RETRY_MS);
  });
}

function requestOf(path: string, headers: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${target.token}\r\n${headers}\r\n`;
}

function read(stream: Stream, data: Buffer): void {
  const bytes = stream.rest.length === 0 ? data : Buffer.concat([stream.rest, data]);
  if (!bytes.subarray(-END_OF_CHUNK.length).equals(END_OF_CHUNK)) {
    stream.rest = Buffer.from(bytes);
    return;
  }
  stream.rest = Buffer.alloc(0);
  if (!stream.isOpen) {
    stream.isOpen = bytes.subarray(0, 12).toString() === "HTTP/1.1 200";
    if (!stream.isOpen) refused += 1;
  }
  const nowMs = Date.now();
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + MARK.length)) {
    latencies.push(nowMs - readDigits(bytes, at + MARK.length, STAMP_DIGITS));
    const number = readDigits(bytes, at + NUMBER_OFFSET, NUMBER_DIGITS);
    if (number > stream.lastNumber + 1) missing += number - stream.lastNumber - 1;
    if (number <= stream.lastNumber) doubled += 1;
    stream.lastNumber = Math.max(stream.lastNumber, number);
  }
  const idAt = bytes.lastIndexOf(ID_LINE);
  if (idAt >= 0) stream.lastId = readDigits(bytes, idAt + ID_LINE.length, Number.POSITIVE_INFINITY);
}

function readDigits(bytes: Buffer, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at++) {
    const digit = (bytes[at] ?? 0) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  return value;
}

function carryOut(order: Order): unknown {
  switch (order.do) {
    case "open":
      target = order;
      for (const { path, clusterId } of order.streams) {
        const stream: Stream = {
          path,
          clusterId,
          socket: undefined,
          isOpen: false,
          rest: Buffer.alloc(0),
          lastId: 0,
          lastNumber: 0,
        };
        streams.push(stream);
        open(stream);
      }
      return {};
    case "stall":
      target = order;
      for (const path of order.paths) {
        const socket = connect(target.port, "127.0.0.1");
        socket.pause();
        socket.on("error", () => undefined);
        socket.write(requestOf(path, "Last-Event-ID: 0\r\n"));
        stalled.push(socket);
      }
      return {};
    case "sever":
      isSevering = true;
      for (const stream of streams) {
        stream.isOpen = false;
        stream.socket?.destroy();
      }
      for (const socket of stalled) socket.destroy();
      return {};
    case "reopen":
      isSevering = false;
      for (const stream of streams) open(stream);
      return {};
    case "seen":
      return streams.filter(
        ({ isOpen, clusterId, lastNumber }) => isOpen && lastNumber >= (order.counts[clusterId] ?? 0),
      ).length;
    case "figures": {
      const figures = { latencies, missing, doubled, refused, broken, retried };
      latencies = [];
      return figures;
    }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(carryOut(JSON.parse(line))));
}
process.exit();
