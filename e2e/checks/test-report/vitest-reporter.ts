import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestCase, TestModule, TestSpecification } from "vitest/node";
import { endProcessesOnInterrupt } from "../../platform/programs/interrupt.ts";
import { writePlain } from "./colours.ts";
import { greenInputs, lastSeconds } from "./kept.ts";
import { createProcessorTimes, sampleProcesses } from "./processor-time.ts";
import {
  describeEnd,
  describeFailures,
  describeProgress,
  describeTimes,
  type Failure,
} from "./report-text.ts";
import type { StepResult } from "./step-result.ts";
import { digestInputs, readSources } from "./test-inputs.ts";

const PROGRESS_INTERVAL_MS = 10_000;
const SAMPLE_INTERVAL_MS = 2000;
const SLOWEST_FILES = 15;

/** The arguments of this run of vitest, without those that change only its output. */
const COMMAND = process.argv
  .slice(2)
  .filter((argument) => !/^--(reporter|outputFile|silent)\b/.test(argument))
  .join(" ");

/** Only some tests of each file. */
const IS_PARTIAL = /(^| )(-t|--testNamePattern)\b/.test(COMMAND);

/**
 * Used in addition to a reporter of vitest: says every 10 s where the run is and how long it took last time, and at its end which
 * files and which kinds of processes took the time, what failed, why, how to run that alone, and what to do next. A signal ends all processes
 * that the run has started. A file or a pipe gets no colours, nor what the run starts.
 */
export default class RunReporter implements Reporter {
  readonly #startedAt = performance.now();
  readonly #times = createProcessorTimes(process.pid);
  readonly #running = new Map<string, number>();
  readonly #timers: NodeJS.Timeout[] = [];
  #inputs: ReadonlyMap<string, string> = new Map();
  readonly #counts = { files: 0, filesDone: 0, tests: 0, failed: 0 };

  constructor() {
    if (process.stdout.isTTY || "FORCE_COLOR" in process.env) return;
    process.env.NO_COLOR = "1";
    for (const stream of [process.stdout, process.stderr]) writePlain(stream);
  }

  onInit(): void {
    // vitest exits 1 ms after a signal: the stacks that its workers started would run on.
    endProcessesOnInterrupt();
    const sample = (): void => this.#times.add(sampleProcesses());
    sample();
    this.#timers.push(setInterval(sample, SAMPLE_INTERVAL_MS));
    this.#timers.push(setInterval(() => this.#tellProgress(), PROGRESS_INTERVAL_MS));
    for (const timer of this.#timers) timer.unref();
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#counts.files = specifications.length;
    // Now: a file may be changed while the tests run.
    const files = specifications.map(({ moduleId }) => relative(process.cwd(), moduleId));
    const sources = readSources(process.cwd());
    if (sources !== undefined) this.#inputs = digestInputs(files, sources);
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(nameOf(module), performance.now());
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(nameOf(module));
    this.#counts.filesDone += 1;
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    if (state !== "skipped") this.#counts.tests += 1;
    if (state !== "failed") return;
    this.#counts.failed += 1;
    // At once too: a run that is stopped never comes to its end.
    write(describeFailures([failureOf(test)], []));
  }

  onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly { message: string; stack?: string }[],
    reason: string,
  ): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#times.add(sampleProcesses());
    const slowest = modules
      .map((module): [string, number] => [nameOf(module), module.diagnostic().duration / 1000])
      .sort((a, b) => b[1] - a[1])
      .slice(0, SLOWEST_FILES);
    write(describeTimes(`The ${SLOWEST_FILES} slowest files`, slowest));
    write(describeTimes("Processor time by kind of process", this.#times.seconds()));
    const failures = modules.flatMap(failuresOf);
    write(describeFailures(failures, errors));
    this.#writeResult(failures, errors);
    const failed = failures.length + errors.length;
    const passed = this.#counts.tests - this.#counts.failed;
    write(describeEnd({ seconds: this.#seconds(), passed, failed }));
    if (reason === "passed") lastSeconds.add({ [COMMAND]: Math.round(this.#seconds()) });
    if (!IS_PARTIAL) greenInputs.add(this.#findGreen(modules));
  }

  #findGreen(modules: readonly TestModule[]): Record<string, string> {
    const green = modules.filter((module) => module.state() === "passed").map(nameOf);
    const digests = green.map((file) => [file, this.#inputs.get(file)] as const);
    return Object.fromEntries(
      digests.flatMap(([file, digest]) => (digest === undefined ? [] : [[file, digest]])),
    );
  }

  /** For the whole run, of which this is a step. */
  #writeResult(failures: readonly Failure[], errors: readonly { message: string; stack?: string }[]): void {
    const file = process.env.MARINA_TEST_RESULT;
    if (file === undefined) return;
    const result: StepResult = {
      numPassedTests: this.#counts.tests - this.#counts.failed,
      numFailedTests: failures.length + errors.length,
      processorSeconds: this.#times.seconds().reduce((sum, [, seconds]) => sum + seconds, 0),
      failures: describeFailures(failures, errors),
    };
    writeFileSync(file, JSON.stringify(result));
  }

  #seconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  #tellProgress(): void {
    const now = performance.now();
    const running = [...this.#running].map(([name, since]): [string, number] => [name, (now - since) / 1000]);
    const seconds = this.#seconds();
    write(describeProgress({ seconds, lastSeconds: lastSeconds.read()[COMMAND], ...this.#counts, running }));
  }
}

function write(text: string): void {
  process.stdout.write(text);
}

function nameOf(module: TestModule): string {
  return relative(process.cwd(), module.moduleId);
}

/** The failed tests of a file, and the file itself when it could not be loaded or one of its hooks failed. */
function failuresOf(module: TestModule): Failure[] {
  const file = nameOf(module);
  const own = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())];
  const tests = [...module.children.allTests("failed")];
  const command = commandOf(module);
  return [
    ...own.map(({ message }) => ({ title: file, messages: [message], command })),
    ...tests.map(failureOf),
  ];
}

function failureOf(test: TestCase): Failure {
  return {
    title: `${nameOf(test.module)} > ${test.fullName}`,
    messages: (test.result().errors ?? []).flatMap(({ message, stack, diff }) => [
      stack ?? message,
      ...(diff === undefined ? [] : [stripVTControlCharacters(diff)]),
    ]),
    command: `${commandOf(test.module)} -t ${JSON.stringify(test.fullName)}`,
  };
}

/** Runs a file alone. */
function commandOf(module: TestModule): string {
  const config = /--config[= ]\S+/.exec(COMMAND)?.[0];
  const project = module.project.name === "" ? undefined : `--project ${module.project.name}`;
  return ["npx vitest run", config, project, nameOf(module)].filter(Boolean).join(" ");
}
