import type { z } from "@hono/zod-openapi";
import { describe, expect, test, vi } from "vitest";
import { declareOperations } from "../../openapi/render.ts";
import { expensiveBodies } from "../../testing/expensive-bodies.ts";
import { ApiError, MAX_DETAILS } from "../errors.ts";
import { parseBody } from "./body.ts";

const operations = declareOperations().flatMap(({ operationId, body }) =>
  body === undefined ? [] : [{ operationId, body }],
);

interface Work {
  faults: number;
  validated: boolean;
}

function workOf(schema: z.ZodType, text: string): Work {
  const safeParse = vi.spyOn(schema, "safeParse");
  try {
    parseBody(schema, text);
    return { faults: 0, validated: true };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { faults: error.details?.length ?? 0, validated: safeParse.mock.calls.length > 0 };
  } finally {
    safeParse.mockRestore();
  }
}

describe.each(operations.map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (_id, { body }) => {
    const bodies = expensiveBodies(body);
    const beyondBounds = bodies.filter(({ name }) => name.startsWith("too "));

    test.each(bodies)(
      "the most expensive body ($name) is accepted, or refused with 100 faults at most",
      ({ text }) => {
        expect(workOf(body, text).faults).toBeLessThanOrEqual(MAX_DETAILS);
      },
    );

    test.each(beyondBounds)("$name is refused before it is validated", ({ text }) => {
      expect(workOf(body, text).validated).toBe(false);
    });
  },
);
