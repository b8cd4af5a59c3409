import type { Reporter, TestModule } from "vitest/node";

/**
 * Names what did not run on this machine (some barriers need root, or a user without it), and ends the output with
 * `N passed, N failed`, which any reader of a test run understands.
 */
export class ClosingLine implements Reporter {
  readonly #notRun: readonly string[];

  /** `notRun`: what this machine leaves out as a whole. */
  constructor(notRun: readonly string[] = []) {
    this.#notRun = notRun;
  }

  onTestRunEnd(testModules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const tests = testModules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state: string) => tests.filter((test) => test.result().state === state);
    // A file that can't be loaded has no tests, and one whose beforeAll fails has none that failed.
    const failedIn = (module: TestModule) => [...module.children.allTests("failed")].length;
    const broken = testModules.filter((module) => module.state() === "failed" && failedIn(module) === 0);
    const failedCount = inState("failed").length + broken.length + unhandledErrors.length;
    const left = [...this.#notRun, ...inState("skipped").map((test) => test.fullName)];
    for (const name of left) process.stdout.write(`\nnot run on this machine: ${name}`);
    process.stdout.write(`\n${inState("passed").length} passed, ${failedCount} failed\n`);
  }
}
