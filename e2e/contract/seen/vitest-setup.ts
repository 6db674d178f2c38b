import { expect } from "vitest";
import { rememberSeen } from "./seen.ts";

rememberSeen("file", expect.getState().testPath ?? "");
