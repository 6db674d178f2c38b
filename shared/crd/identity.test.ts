import { expect, test } from "vitest";
import { createId } from "../program/id.ts";
import { identityOf, idOf } from "./identity.ts";
import { ANNOTATION_IDENTITY, ANNOTATION_REQUEST_ID, LABEL_ID } from "./names.ts";

const ID = createId();
const NOW = new Date().toISOString();
const LATER = new Date(Date.now() + 11 * 60_000).toISOString();
const byRest = { [ANNOTATION_REQUEST_ID]: "request-1" };
const confirmation = (value: string) => ({ [ANNOTATION_IDENTITY]: value });

test.each([
  { what: "without an id", metadata: {}, state: "none" },
  { what: "with an id alone", metadata: { labels: { [LABEL_ID]: ID } }, state: "unconfirmed" },
  ...["new", "known", "refused"].map((value) => ({
    what: `with the confirmation ${value}`,
    metadata: { labels: { [LABEL_ID]: ID }, annotations: confirmation(value) },
    state: value,
  })),
  {
    what: "with a value that is no confirmation",
    metadata: { labels: { [LABEL_ID]: ID }, annotations: confirmation("yes") },
    state: "unconfirmed",
  },
  {
    what: "that an earlier API server makes",
    metadata: { labels: { [LABEL_ID]: ID }, annotations: byRest, creationTimestamp: NOW },
    state: "new",
  },
  {
    what: "that it made, restored later",
    metadata: { labels: { [LABEL_ID]: ID }, annotations: byRest, creationTimestamp: LATER },
    state: "unconfirmed",
  },
  {
    what: "with an id of now, by kubectl",
    metadata: { labels: { [LABEL_ID]: ID }, creationTimestamp: NOW },
    state: "unconfirmed",
  },
])("an object $what is $state", ({ metadata, state }) => {
  expect(identityOf({ metadata: { name: "shop", ...metadata } })).toBe(state);
});

test("an object whose status has its id is confirmed whatever it says, and keeps the id without the label", () => {
  const object = { metadata: { name: "shop", annotations: confirmation("refused") }, status: { id: ID } };
  expect(identityOf(object)).toBe("confirmed");
  expect(idOf(object)).toBe(ID);
});
