import { createLogger } from "../../shared/program/log.ts";
import type { FeedKey, NewStatusEvent } from "../events/feed.ts";
import { startTestApp, type TestApp, type TestResponse } from "../testing/app.ts";
import {
  addPerson,
  makeOrganization,
  type Person,
  startTestIssuer,
  type TestIssuer,
} from "../testing/issuer.ts";

interface Message {
  event: string;
  id: number | undefined;
  data: Record<string, unknown>;
}

/** A stream that is read as long as it lasts. */
export interface TestStream {
  status: number;
  headers: Headers;
  /** The messages so far; comments and the present state, with which a stream begins, are left out. */
  messages: Message[];
  /** The present state, in each stream once. */
  states: Message[];
  ended: Promise<void>;
  close(): Promise<void>;
}

/** Opens a stream with only these headers; the response may be an error. */
export async function openStream(
  { app }: Pick<TestApp, "app">,
  path: string,
  headers: Record<string, string> = {},
): Promise<TestStream> {
  const response = await app.request(path, { headers });
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("no body");
  const read = { messages: [], states: [] };
  return {
    status: response.status,
    headers: response.headers,
    ...read,
    ended: readAll(reader, read),
    close: () => reader.cancel(),
  };
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { messages, states }: Pick<TestStream, "messages" | "states">,
) {
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
      const data = JSON.parse(field("data") ?? "null");
      const isState = event === "status" && id === undefined;
      (isState ? states : messages).push({ event, id: id === undefined ? undefined : Number(id), data });
    }
  }
}

/** The names of what a stream has said. */
export const eventsOf = ({ messages }: TestStream) => messages.map(({ event }) => event);

/** A change of status of a cluster, as the projector writes it. */
export function aStatus(feed: FeedKey, status: string): NewStatusEvent {
  const payload = { status, previousStatus: null, message: null, at: new Date().toISOString() };
  return { kind: "status", ...feed, nodePoolId: null, payload };
}

/** A cluster whose feed two replicas serve, with an owner created for the test. */
export interface FeedTest {
  one: TestApp;
  other: TestApp;
  issuer: TestIssuer;
  owner: Person;
  orgId: string;
  clusterId: string;
  /** The path of the feed. */
  path: string;
  /** What both replicas have logged. */
  lines: string[];
  pathOf(clusterId: string): string;
  createCluster(name: string): Promise<string>;
  makeMember(role?: "viewer" | "billing"): Promise<{ person: Person; memberId: string }>;
  removeMember(memberId: string): Promise<TestResponse>;
  /** Opens a stream, of this cluster unless another is named. */
  open(
    api: TestApp,
    credential: { token: string } | { ticket: string },
    clusterId?: string,
  ): Promise<TestStream>;
  /** Changes the configuration of a replica until `restore`. */
  setConfig(api: TestApp, changes: Partial<TestApp["deps"]["config"]["systemEvents"]>): void;
  /** Lets the clock of a replica run ahead until `restore`. */
  wait(api: TestApp, ms: number): void;
  /** Closes the streams of one test and takes back what it has changed. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

export async function startFeedTest(): Promise<FeedTest> {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ name: "test", level: "trace", destination });
  const issuer = await startTestIssuer();
  const one = await startTestApp({ issuers: [issuer.config], log });
  const other = await startTestApp({ issuers: [issuer.config], replicaOf: one, log });
  const { id: orgId, owner } = await makeOrganization(one, issuer);
  const clusters = `/api/v1/organizations/${orgId}/clusters`;
  const pathOf = (id: string) => `${clusters}/${id}/system-events`;
  const opened: TestStream[] = [];
  const undone: (() => void)[] = [];

  async function createCluster(name: string): Promise<string> {
    const body = { name, k8s_version: "1.34", plan: "scale" };
    const response = await one.request("POST", clusters, { token: owner.token, body });
    if (response.status !== 202) throw new Error(`no cluster: ${JSON.stringify(response.body)}`);
    return response.body.id;
  }

  const clusterId = await createCluster("streams");
  return {
    one,
    other,
    issuer,
    owner,
    orgId,
    clusterId,
    path: pathOf(clusterId),
    lines,
    pathOf,
    createCluster,
    async makeMember(role = "viewer") {
      const person = await issuer.createPerson();
      return { person, memberId: await addPerson(one.deps, orgId, person, role) };
    },
    removeMember: (memberId) =>
      one.request("DELETE", `/api/v1/organizations/${orgId}/members/${memberId}`, { token: owner.token }),
    async open(api, credential, id = clusterId) {
      const stream =
        "ticket" in credential
          ? await openStream(api, `${pathOf(id)}?ticket=${credential.ticket}`)
          : await openStream(api, pathOf(id), { authorization: `Bearer ${credential.token}` });
      opened.push(stream);
      return stream;
    },
    setConfig(api, changes) {
      const { config } = api.deps;
      api.deps.config = { ...config, systemEvents: { ...config.systemEvents, ...changes } };
      undone.unshift(() => {
        api.deps.config = config;
      });
    },
    wait(api, ms) {
      const { now } = api.deps;
      api.deps.now = () => new Date(now().getTime() + ms);
      undone.unshift(() => {
        api.deps.now = now;
      });
    },
    async restore() {
      await Promise.all(opened.splice(0).map((stream) => stream.close()));
      for (const undo of undone.splice(0)) undo();
    },
    async close() {
      await other.close();
      await one.close();
      issuer.close();
    },
  };
}
