import { describe, expect, test } from "vitest";
import { findJournalFault, type JournalEntry, readJournal } from "./journal.ts";

const entry = (idx: number, when: number): JournalEntry => ({ idx, when, tag: `000${idx}_x` });

describe("the journal of migrations", () => {
  test("is in order", () => {
    expect(findJournalFault(readJournal())).toBeUndefined();
  });

  test.each<[string, JournalEntry[], string]>([
    ["a migration dated before its predecessor", [entry(0, 2), entry(1, 1)], "is dated before"],
    ["two migrations of one moment", [entry(0, 1), entry(1, 1)], "is dated before"],
    ["a number that is missing", [entry(0, 1), entry(2, 2)], "has the number 2"],
  ])("refuses %s", (_case, entries, fault) => {
    expect(findJournalFault(entries)).toContain(fault);
  });
});
