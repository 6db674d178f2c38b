import { expect, test } from "vitest";
import { createId } from "../program/id.ts";
import { identityStateOf, idOf } from "./identity.ts";
import { ANNOTATION_IDENTITY, LABEL_ID } from "./names.ts";

const ID = createId();
const UID = crypto.randomUUID();
const NOW = new Date().toISOString();
const LATER = new Date(Date.now() + 26 * 3_600_000).toISOString();
const EARLIER = new Date(Date.now() - 26 * 3_600_000).toISOString();
const confirmation = (value: string) => ({ [ANNOTATION_IDENTITY]: value });
const came = (value: string, creationTimestamp = LATER) => ({
  labels: { [LABEL_ID]: ID },
  annotations: confirmation(value),
  creationTimestamp,
});

test.each([
  { what: "without an id", metadata: {}, state: "none" },
  {
    what: "without an id that says of one that it is new",
    metadata: { annotations: confirmation("new") },
    state: "none",
  },
  { what: "with an id alone", metadata: { labels: { [LABEL_ID]: ID } }, state: "unconfirmed" },
  {
    what: "with an id of now alone",
    metadata: { labels: { [LABEL_ID]: ID }, creationTimestamp: NOW },
    state: "unconfirmed",
  },
  { what: "that REST makes", metadata: came("new", NOW), state: "new" },
  { what: "that REST made, restored later", metadata: came("new"), state: "unconfirmed" },
  { what: "with an id of later that calls it new", metadata: came("new", EARLIER), state: "unconfirmed" },
  {
    what: "with an id without a time that calls it new",
    metadata: { ...came("new", NOW), labels: { [LABEL_ID]: crypto.randomUUID() } },
    state: "unconfirmed",
  },
  { what: "whose id is new", metadata: came(`new ${UID}`), state: "new" },
  { what: "whose id is known", metadata: came(`known ${UID}`), state: "known" },
  { what: "whose id is known of no object", metadata: came("known"), state: "unconfirmed" },
  ...["new", "known"].map((result) => ({
    what: `whose id is ${result} of another object`,
    metadata: came(`${result} ${crypto.randomUUID()}`),
    state: "unconfirmed",
  })),
  { what: "whose id is refused", metadata: came("refused"), state: "refused" },
  { what: "with a value that is no confirmation", metadata: came(`yes ${UID}`), state: "unconfirmed" },
])("an object $what is $state", ({ metadata, state }) => {
  expect(identityStateOf({ metadata: { name: "shop", uid: UID, ...metadata } })).toBe(state);
});

test("an object whose status has its id is accepted whatever it says, and keeps the id without the label", () => {
  const object = { metadata: { name: "shop", annotations: confirmation("refused") }, status: { id: ID } };
  expect(identityStateOf(object)).toBe("accepted");
  expect(idOf(object)).toBe(ID);
});

test("a confirmation without the uid counts for no object that has none either", () => {
  expect(identityStateOf({ metadata: { name: "shop", ...came("known undefined") } })).toBe("unconfirmed");
});
