import { setTimeout as sleep } from "node:timers/promises";

/** One thing that must be well for this process to take requests. */
export interface ReadinessCheck {
  name: string;
  /** Resolves to true when it is well; a rejection or no answer within two seconds counts as false. */
  check(): boolean | Promise<boolean>;
}

const DEADLINE_MS = 2000;

export interface Readiness {
  add(check: ReadinessCheck): void;
  /** The names of the checks that fail now. */
  findFaults(): Promise<string[]>;
}

/** Collects what readiness depends on; parts add their checks as they start. */
export function createReadiness(): Readiness {
  const checks: ReadinessCheck[] = [];
  return {
    add: (check) => void checks.push(check),
    async findFaults() {
      const results = await Promise.all(checks.map(passes));
      return checks.filter((_, index) => !results[index]).map((check) => check.name);
    },
  };
}

async function passes(check: ReadinessCheck): Promise<boolean> {
  const late = sleep(DEADLINE_MS, false, { ref: false });
  const answer = Promise.resolve()
    .then(() => check.check())
    .catch(() => false);
  return Promise.race([answer, late]);
}
