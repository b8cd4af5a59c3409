import type { Reporter, TestModule } from "vitest/node";

/** Ends the output with `N passed, N failed`, which any reader of a test run understands. */
export class ClosingLine implements Reporter {
  onTestRunEnd(testModules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const states = testModules.flatMap((module) => [...module.children.allTests()]).map((test) => test.result().state);
    const passedCount = states.filter((state) => state === "passed").length;
    // A file that can't be loaded has no tests, and one whose beforeAll fails has none that failed.
    const broken = testModules.filter(
      (module) =>
        module.state() === "failed" &&
        ![...module.children.allTests()].some((test) => test.result().state === "failed"),
    );
    const failedCount = states.filter((state) => state === "failed").length + broken.length + unhandledErrors.length;
    process.stdout.write(`\n${passedCount} passed, ${failedCount} failed\n`);
  }
}
