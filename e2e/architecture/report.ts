import { join } from "node:path";
import { findViolations } from "./check.ts";

/** Prints everything that breaks a rule of the architecture. */
const violations = findViolations(join(import.meta.dirname, "..", ".."));
process.stdout.write(`${[...violations, `${violations.length} violations`].join("\n")}\n`);
