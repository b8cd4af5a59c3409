import { type FoundFunction, locateFunction } from "./locate-function.ts";
import { misspell, overstep } from "./mistakes.ts";
import { ask, brief, type Plan, type Stuck, stuck } from "./plan.ts";
import { readFunction } from "./read-function.ts";
import { repair } from "./repair.ts";

/**
 * Repairs one function by search: sees the tests fail, finds the function that the issue or the failing test names, reads it,
 * and tries one-line changes of it, the likeliest first, until the tests pass. Everything it writes is derived from what the
 * tools answered. On the way it makes three mistakes on purpose and goes on only if each is refused for its own reason.
 */
export function* solve(task: string): Plan<Stuck> {
  const baseline = yield* seeTestsFail();
  if (baseline.kind === "stuck") return baseline;
  const denied = yield* overstep();
  if (denied !== null) return denied;
  const found = yield* locateFunction(task, baseline.output);
  if (found.kind === "stuck") return found;
  const invalid = yield* misspell(found);
  if (invalid !== null) return invalid;
  const source = yield* readFunction(found);
  if (source.kind === "stuck") return source;
  const repaired = yield* repair(source, task, baseline.output);
  if (repaired.kind === "stuck") return repaired;
  return yield* finish(found, repaired.description);
}

type Baseline = { readonly kind: "failing"; readonly output: string };

function* seeTestsFail(): Plan<Baseline | Stuck> {
  const tests = yield* ask("I run the tests first, to see what fails before I change anything.", "run_tests", {
    filter: null,
  });
  if (tests?.status === "ok" || tests?.status === "empty") return stuck("the tests pass before any change");
  if (tests?.status !== "failed") return stuck(`the tests were not run: ${brief(tests)}`);
  return { kind: "failing", output: tests.body };
}

/** The longest title that `finish` takes. */
const titleCharacters = 72;

function* finish(found: FoundFunction, description: string): Plan<Stuck> {
  const end = yield* ask("The tests pass now.", "finish", {
    title: `Fix \`${found.name}\`: ${description}`.slice(0, titleCharacters),
    summary: `\`${found.name}\` in \`${found.path}\` gave a wrong result: ${description}. The tests failed before this change and pass after it.`,
  });
  return stuck(end?.status === "ok" ? "I have finished already" : `\`finish\` was not taken: ${brief(end)}`);
}
