/** Milliseconds of the machine's monotonic clock, which all processes share. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** User and system time of this process, in milliseconds. */
export function readCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What the receiver counts: an event is known by the path and the `webhook-id` of its request. */
export interface ReceiverProgram {
  /** Returns its URL. */
  listen(files: { certFile: string; keyFile: string }): string;
  reset(): void;
  /** Resolves with what was received once there are so many events, or after the time. */
  waitFor(wanted: { events: number; timeoutMs: number }): Promise<Received>;
  /** From then on all paths answer at once. */
  heal(): void;
}

export interface Received {
  /** The id of each event with the time of its first request, in the order of these. */
  first: [id: string, atMs: number, path: string][];
  /** Requests beyond the first of an event. */
  duplicates: number;
}

/** Paths of the receiver: answered at once, never, or with a byte a second. */
export const PATHS = { fast: "fast", hang: "hang", drip: "drip" } as const;

/** Something that sends what is pending between `start` and `stop`. */
export interface RunnableProgram {
  start(): Promise<void>;
  stop(): Promise<void>;
  readCpuMs(): number;
}

/** What sends a number of signed requests to the receiver. */
export interface SenderProgram extends RunnableProgram {
  open(settings: SenderSettings): Promise<void>;
  /** Adds work while the sender is stopped. */
  enqueue(count: number): Promise<void>;
  /** Work that is not complete. */
  countRemaining(): Promise<number>;
}

export interface SenderSettings {
  databaseUrl: string;
  receiverUrl: string;
  caFile: string;
  body: string;
  secret: string;
  concurrency: number;
}

/** Marina's deliverer, as an API server runs it. */
export interface DelivererProgram extends RunnableProgram {
  open(settings: { databaseUrl: string; caFile: string; key: string; concurrency: number }): void;
}

/** Fills Marina's tables. */
export interface PublisherProgram {
  /** Creates a database; returns its address. */
  open(settings: { adminUrl: string; key: string }): Promise<string>;
  /** Webhooks of an organization each. */
  addWebhooks(urls: readonly string[]): Promise<void>;
  /** Events that are pending, spread evenly over the webhooks. */
  publish(count: number): Promise<void>;
  /** One event a transaction; returns the time just before the commit of each. */
  publishAtRate(load: { perSecond: number; seconds: number }): Promise<[eventId: string, atMs: number][]>;
  /** Webhooks whose endpoint has refused ten attempts, with due deliveries each. */
  addBacklog(backlog: { webhooks: number; deliveriesEach: number; url: string }): Promise<void>;
  /** Pending deliveries of the webhooks without the backlog. */
  countPending(): Promise<number>;
  countBacklog(): Promise<number>;
  /** Lets the time of all retries and pauses come. */
  makeDue(): Promise<void>;
  /** The plans of the statements of one claim. */
  explainClaim(superuserUrl: string): Promise<string>;
  /** The body of an event. */
  readBody(): Promise<string>;
  drop(): Promise<void>;
}
