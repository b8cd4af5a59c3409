import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffStat } from "../../src/run/diff-stat.ts";

describe("the size of a patch", () => {
  it("is nothing for no patch", () => {
    expect(diffStat("")).toEqual({ files: 0, added: 0, removed: 0 });
  });

  it("counts files that have no hunk: a mode, an empty file, binary data", () => {
    const patch = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\ndiff --git a/e b/e\nnew file mode 100644\n";

    expect(diffStat(patch)).toEqual({ files: 2, added: 0, removed: 0 });
  });

  it("does not count a missing line feed at the end as a line", () => {
    const patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n";

    expect(diffStat(patch)).toEqual({ files: 1, added: 1, removed: 1 });
  });

  it("is not fooled by content that looks like a patch", () => {
    const line = fc.constantFrom("diff --git a/y b/y", "@@ -1,9 +1,9 @@", "--- a/x", "+++ b/x", "", "+", "-", "plain");
    fc.assert(
      fc.property(fc.array(line), fc.array(line), (removed, added) => {
        const head = `diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,${removed.length} +1,${added.length} @@\n`;
        const body = [...removed.map((text) => `-${text}\n`), ...added.map((text) => `+${text}\n`)].join("");

        expect(diffStat(head + body)).toEqual({ files: 1, added: added.length, removed: removed.length });
      }),
    );
  });
});
