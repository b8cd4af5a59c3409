import { describe, expect, it } from "vitest";
import type { FileChange } from "../../src/domain/index.ts";
import { withoutObstructed } from "../../src/run/obstructed.ts";

const entry = { mode: "100644", blobSha: "0".repeat(40), sizeBytes: 1 } as const;
const added = (path: string): FileChange => ({
  path,
  before: null,
  after: { mode: "100644", blobSha: "1".repeat(40), content: new Uint8Array([1]) },
});
const deleted = (path: string): FileChange => ({ path, before: entry, after: null });

/** What is left where these deletions are not let out and all else is. */
function left(kept: readonly string[], others: readonly FileChange[]) {
  const { fitting, obstructed } = withoutObstructed([...kept.map(deleted), ...others], others);
  expect([...fitting, ...obstructed]).toHaveLength(others.length);
  return { fitting: fitting.map(({ path }) => path), obstructed: obstructed.map(({ path }) => path) };
}

/** Nothing is deleted without a decision by what takes its place (AUD-21, SEC-91). */
describe("a file whose deletion is not let out", () => {
  it.each([
    ["is not turned into a folder", "CODEOWNERS", "CODEOWNERS/x.txt"],
    ["does not go with its folder", "docs/CODEOWNERS", "docs"],
    ["does not go with a folder further up", "a/b/c/.npmrc", "a"],
    ["has no other spelling beside it", "CODEOWNERS", "codeowners"],
    ["has no other spelling of its folder beside it", "docs/CODEOWNERS", "Docs/readme.md"],
    ["is not turned into a folder by another spelling", "package.json", "Package.json/x"],
  ])("%s", (_, kept, path) => {
    expect(left([kept], [added(path)])).toEqual({ fitting: [], obstructed: [path] });
  });

  it("leaves alone what lies beside it, and the deletions that are let out", () => {
    const others = [added("docs/new.md"), added("CODEOWNERS2"), deleted("docs/old.md"), added("CODE/OWNERS")];

    expect(left(["docs/CODEOWNERS", "CODEOWNERS"], others).obstructed).toEqual([]);
  });
});

it("a file takes the place of a folder, and a folder that of a file, where all that was there may go", () => {
  const all = [deleted("docs/a.md"), deleted("docs/b.md"), added("docs"), deleted("one"), added("one/two")];

  expect(withoutObstructed(all, all)).toEqual({ fitting: all, obstructed: [] });
});
