import { expect } from "vitest";
import { rememberSeen } from "./seen-answers.ts";

rememberSeen("file", expect.getState().testPath ?? "");
