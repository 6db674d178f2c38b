import { expect, test } from "vitest";
import { z } from "zod";
import { EVENT_TYPES } from "../events/event-types.ts";
import { renderOpenApi } from "./render.ts";

const sentShape = z.looseObject({
  post: z.looseObject({
    parameters: z.array(z.looseObject({ name: z.string(), in: z.string(), required: z.boolean() })),
    requestBody: z.looseObject({
      content: z.record(z.string(), z.looseObject({ example: z.looseObject({ type: z.string() }) })),
    }),
  }),
});

const { webhooks } = z
  .looseObject({ webhooks: z.record(z.string(), sentShape) })
  .parse(JSON.parse(renderOpenApi()));

test("the document has each type of event under webhooks, with the signed headers and its body", () => {
  expect(Object.keys(webhooks)).toEqual([...EVENT_TYPES]);
  for (const [type, { post }] of Object.entries(webhooks)) {
    expect(post.parameters.map((one) => [one.name, one.in, one.required])).toEqual([
      ["webhook-id", "header", true],
      ["webhook-timestamp", "header", true],
      ["webhook-signature", "header", true],
    ]);
    expect(post.requestBody.content["application/json"]?.example.type).toBe(type);
  }
});
