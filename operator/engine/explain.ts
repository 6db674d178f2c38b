import type { EngineCondition } from "./kinds.ts";

/** Long enough for a cause, short enough that object and next step stay in sight. */
const MAX_LENGTH = 500;

/** The engine's words in one line: it writes lists of bullets. The reason, when there is no text. */
export function explain(condition: EngineCondition): string {
  const text = (condition.message ?? "")
    .split("\n")
    .map((line) => line.trim().replace(/^\* /, ""))
    .filter((line) => line !== "")
    .join("; ");
  return shorten(text === "" ? condition.reason : text);
}

/**
 * Why the engine refused an object, word for word, without the address of the one who refused: 'admission webhook "x"
 * denied the request: Cluster "y" is invalid: <why>' becomes <why>.
 */
export function explainRefusal(message: string): string {
  const core = message
    .replace(/^.*?denied the request: /s, "")
    .replace(/^\S+ "[^"]*" is (invalid|forbidden): /s, "");
  return shorten(core.replace(/\s+/g, " ").trim() || message);
}

function shorten(text: string): string {
  const points = Array.from(text.replace(/\.$/, ""));
  return points.length <= MAX_LENGTH ? points.join("") : `${points.slice(0, MAX_LENGTH - 1).join("")}…`;
}
