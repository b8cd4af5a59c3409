import { describe, expect, it } from "vitest";
import { watchRun } from "../../src/demo/watch-run.ts";
import type { RunEvent } from "../../src/run/index.ts";
import { anOutcome, aReport } from "../support/outcomes.ts";

const never = new AbortController().signal;
const report = aReport();
const { runId } = report;

/** A watch whose clock is set by hand. */
function watching() {
  const time = { now: 0 };
  const passed: RunEvent["kind"][] = [];
  const watch = watchRun(
    () => time.now,
    ({ kind }) => passed.push(kind),
  );
  return { time, passed, watch };
}

describe("the watch of a demonstration's run", () => {
  it("answers with the report and all actions, the host's own among them", async () => {
    const { watch, passed } = watching();
    const outcome = anOutcome({ tool: "push_commit" });

    watch.begin();
    watch.onEvent({ kind: "action", outcome });
    watch.onEvent({ kind: "completed", report });
    watch.onEvent({ kind: "ended", runId, conclusion: "success" });

    expect(await watch.ended(never)).toEqual({ ...report, actions: [outcome] });
    expect(passed).toEqual(["action", "completed", "ended"]);
  });

  it("tells how long each phase took, from the label on", () => {
    const { watch, time } = watching();

    watch.begin();
    time.now = 300;
    watch.onEvent({ kind: "phase", phase: "prepare" });
    time.now = 1000;
    watch.onEvent({ kind: "phase", phase: "verify_before" });
    time.now = 1500;
    watch.onEvent({ kind: "completed", report });

    expect(watch.timings()).toEqual([
      { part: "label to run", durationMs: 300 },
      { part: "prepare", durationMs: 700 },
      { part: "verify before", durationMs: 500 },
    ]);
  });

  it("fails where the run ended before it came to work", async () => {
    const { watch } = watching();

    watch.begin();
    watch.onEvent({ kind: "ended", runId, conclusion: "action_required" });
    await new Promise((done) => setImmediate(done));

    await expect(watch.ended(never)).rejects.toMatchObject({
      code: "DEMO_FAILED",
      message: "the run ended as `action_required` before it came to work",
    });
  });

  it("ends with the signal's reason, before and while a run is under way", async () => {
    const { watch } = watching();
    const stop = new AbortController();

    const before = watch.ended(stop.signal);
    stop.abort(new Error("stopped on purpose"));

    await expect(before).rejects.toThrow("stopped on purpose");
    watch.onEvent({ kind: "phase", phase: "prepare" });
    await expect(watch.ended(stop.signal)).rejects.toThrow("stopped on purpose");
  });
});
