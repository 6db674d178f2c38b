import type { Context } from "hono";
import type { HttpEnv } from "../env.ts";

type Headers = Record<string, string>;

/**
 * Makes `c.json` and `c.body` answer with the context's `answerHeaders` and those of the call, in plain form. Hono would
 * copy them into a Headers object and back, which costs more than all the routing. Returns a function that completes an
 * answer that was made in another way.
 */
export function answerPlainly(c: Context<HttpEnv>): (answer: Response) => void {
  const common = c.get("responseHeaders");
  let made: Response | undefined;
  const answer = (body: string | null, status: number, headers: Headers): Response => {
    made = new Response(body, { status, headers: { ...common, ...headers } });
    return made;
  };
  const json = (value: unknown, status = 200, headers: Headers = {}) =>
    answer(JSON.stringify(value), status, { "Content-Type": "application/json", ...headers });
  const body = (text: string | null, status = 200, headers: Headers = {}) => answer(text, status, headers);
  // Every call in this program has this form; the types of Hono's own tell what was put in.
  c.json = json as typeof c.json;
  c.body = body as typeof c.body;
  return (finished) => {
    if (finished === made) return;
    for (const [name, value] of Object.entries(common)) {
      if (!finished.headers.has(name)) finished.headers.set(name, value);
    }
  };
}
