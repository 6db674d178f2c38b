export type { EventData } from "./catalog.ts";
export { emitEvents, type NewEvent } from "./emit.ts";
