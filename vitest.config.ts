import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { filesAsUser } from "./test/attack/attacks.ts";
import { ClosingLine } from "./test/support/closing-line.ts";
import { isCheckoutOpenToAll } from "./test/support/reachable-checkout.ts";

/** Nothing in these rooms' tests outlives a test but memory: one process takes file after file, and loads the rooms once. */
const together = ["agent", "cli", "domain", "gateway", "intake", "ledger", "policy", "web"].map(
  (room) => `test/${room}/**/*.test.ts`,
);

const isRoot = process.geteuid?.() === 0;
/** Where root runs the tests: files to whose outcome it matters whom the service runs as (docs/threat-model.md). */
const asOrdinaryUser = {
  name: "as an ordinary user",
  include: [...filesAsUser],
  setupFiles: ["test/support/ordinary-user.ts"],
};
const isClosed = isRoot && !isCheckoutOpenToAll();
const notRun = isClosed ? ["the attacks as an ordinary user: others can't read this checkout or start its Node"] : [];
const notApart = [...together, ...(isRoot ? ["test/**/*-as-user.test.ts"] : [])];

export default defineConfig({
  test: {
    reporters: ["default", new ClosingLine(notRun)],
    // Optimizing the policy engine's WebAssembly takes longer than a file's decisions.
    execArgv: ["--liftoff-only"],
    globalSetup: ["test/attack/machine-setup.ts", "test/support/test-store-setup.ts"],
    // Flows wait much of their time: for a disk, a pause before another look, a lease. One more file than there are cores fills it.
    maxWorkers: availableParallelism() + 1,
    // Real databases and real disks: a busy machine needs its time.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "apart", include: ["test/**/*.test.ts"], exclude: notApart } },
      { extends: true, test: { name: "together", include: together, isolate: false } },
      ...(isRoot && !isClosed ? [{ extends: true as const, test: asOrdinaryUser }] : []),
    ],
  },
});
