import { z } from "zod";
import { parseEnvironment, warnOfUnknownVariables } from "../../../shared/program/config.ts";
import { createLogger } from "../../../shared/program/log.ts";
import { reportFatalError, stopOnSignals, untilAborted } from "../../../shared/program/process.ts";
import { serveScanner } from "./scanner-server.ts";

const variables = z.object({
  MARINA_SCANNER_SOCKET: z.string().min(1),
  MARINA_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).default("info"),
});

/**
 * Grype in a separate container, which reads what tenants push and has no secret: neither the database's address nor
 * the key that signs tokens of the registry is in its reach. Serves until SIGTERM or SIGINT.
 */
async function run(): Promise<void> {
  const { MARINA_SCANNER_SOCKET: socketPath, MARINA_LOG_LEVEL: level } = parseEnvironment(
    variables,
    process.env,
  );
  const log = createLogger({ name: "scanner", level });
  warnOfUnknownVariables(log, variables);
  const stopping = stopOnSignals(log);
  const server = await serveScanner(socketPath);
  log.info({ socketPath }, "listening");
  await untilAborted(stopping);
  server.close();
  server.closeAllConnections();
}

try {
  await run();
} catch (error) {
  reportFatalError(error);
}
