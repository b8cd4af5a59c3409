import { describe, expect, it } from "vitest";
import { publishedByOf } from "../../src/demo/kept-record.ts";
import type { ChangeSet } from "../../src/domain/index.ts";
import { anOutcome, aReport } from "../support/outcomes.ts";

const writes = (...paths: readonly string[]): ChangeSet => ({
  changes: paths.map((path) => ({ path, before: null, after: null })),
});
const diffStat = { files: 1, added: 1, removed: 1 };
const pullRequest = { number: 2, url: "", headSha: "", isDraft: false, isConfirmed: true, diffStat };

describe("the action to trace", () => {
  it("is the last that wrote a published path, be it tried before or other paths written after", () => {
    const first = anOutcome({ tool: "edit_file", changeSet: writes("src/a.js") });
    const last = anOutcome({ tool: "edit_file", changeSet: writes("src/a.js") });
    const refused = anOutcome({ tool: "edit_file", state: "invalid", changeSet: writes("src/a.js") });
    const scratch = anOutcome({ tool: "create_file", changeSet: writes("notes.txt") });
    const actions = [first, last, refused, scratch, anOutcome({ tool: "push_commit", changeSet: writes("src/a.js") })];
    const patch = "diff --git a/src/a.js b/src/a.js\n";

    expect(publishedByOf(aReport({ actions, patch, pullRequest }))).toBe(last.actionId);
    expect(publishedByOf(aReport({ actions, patch }))).toBeNull();
  });
});
