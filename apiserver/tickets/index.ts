export { closeTicketsOf } from "./changes.ts";
