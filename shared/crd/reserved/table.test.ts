import { expect, test } from "vitest";
import { ANNOTATION_REPLACE_PREFIX, OBJECT_ANNOTATIONS } from "../names.ts";
import { reservations } from "./table.ts";

test.each([...OBJECT_ANNOTATIONS, ANNOTATION_REPLACE_PREFIX])(
  "%s is reserved, and so is neither counted nor left out of the caches",
  (name) => {
    expect(reservations.some(({ what, right }) => what.includes(name) && right !== undefined)).toBe(true);
  },
);
