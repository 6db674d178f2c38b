import { describe, expect, test } from "vitest";
import { clusterStatusSchema } from "./cluster.ts";
import { clipConditionMessage, clipStatusMessage, MAX_STATUS_MESSAGE_LENGTH } from "./conditions.ts";

describe("a message", () => {
  test("that fits is left as it is", () => {
    const longest = "🚢".repeat(MAX_STATUS_MESSAGE_LENGTH);
    expect(clipStatusMessage(longest)).toBe(longest);
    expect(clipConditionMessage("Waiting.")).toBe("Waiting.");
  });

  test("that is too long is cut to what the schema takes, and shows that it was cut", () => {
    const message = clipStatusMessage("x".repeat(MAX_STATUS_MESSAGE_LENGTH + 1));
    expect(message.endsWith("…")).toBe(true);
    expect(clusterStatusSchema.safeParse({ message }).success).toBe(true);
  });
});
