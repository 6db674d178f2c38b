import { expect, onTestFinished, test, vi } from "vitest";
import { createUntil } from "./reported-wait.ts";

function useFakeClock(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearInterval", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
}

test("a wait is reported every ten seconds, with what was seen last, also while a read hangs", async () => {
  useFakeClock();
  const reports: string[] = [];
  const until = createUntil(String, {
    onWait: ({ what, seconds, seen }) => reports.push(`${Math.round(seconds)} s for ${what}: ${seen}`),
  });
  const read = Promise.withResolvers<string>();
  const wait = until(
    "the cluster to run",
    () => read.promise,
    (status) => status === "running",
  );
  await vi.advanceTimersByTimeAsync(25_000);
  expect(reports).toEqual(["10 s for the cluster to run: nothing", "20 s for the cluster to run: nothing"]);
  read.resolve("running");
  expect(await wait).toBe("running");
});

test("a wait ends with an error at its deadline that names the last result", async () => {
  const until = createUntil(String, { deadlineSeconds: 0, pollMs: 1 });
  const wait = until(
    "the cluster to run",
    async () => "provisioning",
    (status) => status === "running",
  );
  await expect(wait).rejects.toThrow('waited 0 s for the cluster to run; last result: "provisioning"');
});

test("a wait that is given up ends with the reason", async () => {
  const stopped = new AbortController();
  const until = createUntil(String, { signal: stopped.signal, pollMs: 1 });
  const wait = until(
    "the cluster to run",
    async () => stopped.abort(new Error("stopped")),
    () => false,
  );
  await expect(wait).rejects.toThrow("stopped");
});
