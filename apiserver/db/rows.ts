import { Column, is, SQL } from "drizzle-orm";
import { PgColumn, PgTimestamp } from "drizzle-orm/pg-core";

/** One selected value, as Drizzle describes it: where it goes in the row, and what it comes from. */
export interface SelectedField {
  path: string[];
  field: unknown;
}

type Decode = (value: unknown) => unknown;

interface Place {
  group: string | undefined;
  name: string;
  /** Absent for what stays as the driver gives it. */
  decode: Decode | undefined;
}

/**
 * Makes the function that turns the driver's values into rows. Drizzle's own asks of every value again what kind of
 * column it is from, which costs more than the query. Of joins it knows inner ones alone.
 */
export function compileRows(
  fields: readonly SelectedField[],
): (rows: readonly unknown[][]) => Record<string, unknown>[] {
  const places = fields.map(toPlace);
  const groups = [...new Set(places.flatMap(({ group }) => group ?? []))];
  return (rows) =>
    rows.map((values) => {
      const row: Record<string, unknown> = {};
      for (const group of groups) row[group] = {};
      for (let index = 0; index < places.length; index++) {
        const { group, name, decode } = places[index] as Place;
        const value = values[index];
        const target = group === undefined ? row : (row[group] as Record<string, unknown>);
        target[name] = value === null || decode === undefined ? value : decode(value);
      }
      return row;
    });
}

function toPlace({ path, field }: SelectedField): Place {
  const [first = "", second, third] = path;
  if (third !== undefined) throw new Error(`a selected field lies too deep: ${path.join(".")}`);
  const decode = findDecode(field);
  return second === undefined
    ? { group: undefined, name: first, decode }
    : { group: first, name: second, decode };
}

function findDecode(field: unknown): Decode | undefined {
  if (is(field, PgTimestamp) && field.withTimezone) return toDate;
  if (is(field, Column)) {
    const isPlain = field.mapFromDriverValue === PgColumn.prototype.mapFromDriverValue;
    return isPlain ? undefined : (value) => field.mapFromDriverValue(value);
  }
  const text = is(field, SQL) ? field : (field as { sql: SQL }).sql;
  const { decoder } = text as unknown as { decoder: { mapFromDriverValue: Decode } };
  return (value) => decoder.mapFromDriverValue(value);
}

/** `2026-11-21 09:00:00.123+00`. The form with T and Z is the one that JavaScript reads fast. */
function toDate(value: unknown): Date {
  const text = String(value);
  return new Date(text.endsWith("+00") ? `${text.slice(0, 10)}T${text.slice(11, -3)}Z` : text);
}
