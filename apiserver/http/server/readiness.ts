import { setTimeout as sleep } from "node:timers/promises";

/** One condition for this process to serve requests. */
export interface ReadinessCheck {
  name: string;
  /** Resolves to true when it is met; a rejection, or no result within two seconds, counts as false. */
  check(): boolean | Promise<boolean>;
}

const DEADLINE_MS = 2000;

export interface Readiness {
  add(check: ReadinessCheck): void;
  /** The names of the checks that fail now. */
  findFaults(): Promise<string[]>;
}

/** Collects the checks of readiness; each part adds its own as it starts. */
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
  const result = Promise.resolve()
    .then(() => check.check())
    .catch(() => false);
  return Promise.race([result, late]);
}
