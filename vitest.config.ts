import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { ClosingLine } from "./test/support/closing-line.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", new ClosingLine()],
    globalSetup: ["test/support/test-store-setup.ts"],
    // A test file mostly waits: for a database, a sandbox, a pace. Vitest's own choice would be one worker on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Real databases and real disks: a busy machine needs its time.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
