import type { z } from "@hono/zod-openapi";
import { declareOperations } from "../../openapi/render.ts";
import { expensiveBodies } from "../../testing/expensive-bodies.ts";
import { ApiError } from "../errors.ts";
import { parseBody } from "./body.ts";

const ROUNDS = 7;

/**
 * CPU that the most expensive body of each operation costs beyond an empty object: scan, parse, validation and the text
 * of the refusal. Prints one line of JSON, in milliseconds by operation and body; `npm run bench bodies` reads it.
 */
function main(): void {
  const costs = declareOperations().flatMap(({ operationId, body }) => {
    if (body === undefined) return [];
    const normal = measureMs(body, "{}");
    return expensiveBodies(body).map(({ name, text }) => ({
      operationId,
      name,
      ms: measureMs(body, text) - normal,
    }));
  });
  process.stdout.write(`${JSON.stringify(costs)}\n`);
}

/** The median of some rounds, after one that compiles. */
function measureMs(schema: z.ZodType, text: string): number {
  answer(schema, text);
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    answer(schema, text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return rounds.toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0;
}

function answer(schema: z.ZodType, text: string): string {
  try {
    parseBody(schema, text);
    return "";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return JSON.stringify({ message: error.message, details: error.details });
  }
}

main();
