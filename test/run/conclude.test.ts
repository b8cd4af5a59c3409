import { describe, expect, it } from "vitest";
import { conclude, type Ending } from "../../src/run/conclude.ts";

const passed = { exitCode: 0, timedOut: false, durationMs: 1, passedCount: 3, failedCount: 0, missing: null };
const ending = (change: Partial<Ending> = {}): Ending => ({
  stopReason: "finished",
  detail: "",
  changedPaths: ["src/a.js"],
  verifyCommand: "npm test",
  before: passed,
  after: passed,
  weakenedPaths: [],
  refusedCauses: [],
  gateCauses: [],
  ...change,
});

describe("the conclusion of a run", () => {
  it("is success only where the host saw the project's own tests pass (AT-36)", () => {
    expect(conclude(ending()).conclusion).toBe("success");
  });

  it.each<[string, Partial<Ending>, string, RegExp]>([
    ["the tests fail on the change", { after: { ...passed, exitCode: 1 } }, "failure", /exit code 1/],
    ["a signal ended the tests", { after: { ...passed, exitCode: null } }, "failure", /exit code none/],
    [
      "the commit gate stops the change",
      { gateCauses: ["a secret", "b", "c", "d", "e", "f"] },
      "action_required",
      /a secret.* and 1 more/,
    ],
    ["the tests passed their time", { after: { ...passed, exitCode: null, timedOut: true } }, "failure", /time limit/],
    ["the tests were not run", { after: null }, "neutral", /did not run/],
    ["the tests were not run on the base", { before: null }, "neutral", /on the base/],
    ["fewer tests ran than before", { after: { ...passed, passedCount: 2 } }, "neutral", /3 tests ran before, 2 after/],
    [
      "their program is missing",
      { after: { ...passed, missing: "`x` is not in the sandbox" } },
      "neutral",
      /`x` is not/,
    ],
    ["the repository names no command", { verifyCommand: null, after: null }, "neutral", /names no verify command/],
    ["the change touches what judges it", { weakenedPaths: ["test/a.js"] }, "neutral", /judges it \(test\/a\.js\)/],
    ["nothing changed", { changedPaths: [] }, "neutral", /nothing to change/],
    ["the tree was refused", { refusedCauses: ["a socket"] }, "failure", /refused at read-back: a socket/],
    ["the model stopped before the end", { stopReason: "stuck" }, "failure", /repeated itself/],
    ["the time was over", { stopReason: "limit_time" }, "timed_out", /limit of time/],
    ["somebody stopped it", { stopReason: "cancelled" }, "cancelled", /was cancelled/],
    ["an approval expired", { stopReason: "approval_expired" }, "action_required", /expired unanswered/],
    ["the model found nothing to do", { stopReason: "nothing_to_do" }, "neutral", /nothing to change/],
  ])("where %s is no success", (_, change, conclusion, cause) => {
    const concluded = conclude(ending(change));

    expect(concluded.conclusion).toBe(conclusion);
    expect(concluded.cause).toMatch(cause);
  });

  it("names the first of many paths that judge the change, and how many more there are", () => {
    const weakenedPaths = Array.from({ length: 300 }, (_, at) => `test/${at}.js`);

    expect(conclude(ending({ weakenedPaths })).cause).toBe(
      "not verified: the change touches what judges it (test/0.js, test/1.js, test/2.js, test/3.js, test/4.js and 295 more)",
    );
  });

  it("tells an error's own words where an error ended it", () => {
    expect(conclude(ending({ stopReason: "model_unavailable", detail: "no answer; look" })).cause).toBe(
      "no answer; look",
    );
  });

  it("is no success by passing tests alone where the model did not finish", () => {
    expect(conclude(ending({ stopReason: "limit_turns" })).conclusion).toBe("failure");
  });
});
