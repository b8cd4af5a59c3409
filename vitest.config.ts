import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { ClosingLine } from "./test/support/closing-line.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", new ClosingLine()],
    globalSetup: ["test/attack/machine-setup.ts", "test/support/test-store-setup.ts"],
    // Flows wait much of their time: for a disk, a pause before another look, a lease. One more file than there are cores fills it.
    maxWorkers: availableParallelism() + 1,
    // Real databases and real disks: a busy machine needs its time.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
