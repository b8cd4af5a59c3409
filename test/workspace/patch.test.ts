import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChangeSet, FileChange, FileMode } from "../../src/domain/index.ts";
import { blobShaOf } from "../../src/workspace/base-tree.ts";
import { type BaseTree, defaultTreeLimits, openBase, renderPatch } from "../../src/workspace/index.ts";
import { aHome, aRepository, git, never, type TestHome } from "../support/checkout.ts";

const paths = [
  "crlf.txt",
  "open end.txt",
  "bin.dat",
  "run.sh",
  'dir/ümläut "q".txt',
  "dir/tab\tname",
  "latin.txt",
  "empty",
  "new/a",
  "-dash",
  "new b",
];
let home: TestHome;
let repository: string;
let base: BaseTree;

beforeAll(async () => {
  home = aHome();
  repository = aRepository(join(home.folder, "r"), {
    "crlf.txt": "one\r\ntwo\r\n",
    "open end.txt": "one\ntwo",
    "bin.dat": Buffer.from([0, 1, 2, 255]),
    "run.sh": { program: "#!/bin/sh\n" },
    'dir/ümläut "q".txt': "ä\n",
    "dir/tab\tname": "t\n",
    "latin.txt": Buffer.from("caf\xe9\n", "latin1"),
    empty: "",
  });
  base = (await openBase(home.deps, { kind: "path", path: repository }, defaultTreeLimits, never)).base;
});

afterAll(() => home.dispose());

/** Applies a patch by plain git to a clone at the base, and answers the tree that comes of it. */
function treeAfter(patch: Uint8Array): string {
  const clone = join(home.folder, `clone-${Math.random().toString(36).slice(2)}`);
  git(home.folder, "clone", "--quiet", repository, clone);
  if (patch.length > 0) {
    writeFileSync(join(home.folder, "p.patch"), patch);
    execFileSync("git", ["-C", clone, "apply", join(home.folder, "p.patch")], { stdio: ["ignore", "pipe", "pipe"] });
  }
  git(clone, "add", "--all", "--force");
  return git(clone, "ls-files", "--stage", "-z");
}

function expectedTree(changes: readonly FileChange[]): string {
  const tree = new Map(
    Array.from(base.entries, ([path, { mode, blobSha }]) => [path, `${mode} ${blobSha} 0\t${path}\0`]),
  );
  for (const { path, after } of changes) {
    if (after === null) tree.delete(path);
    else tree.set(path, `${after.mode} ${after.blobSha} 0\t${path}\0`);
  }
  return [...tree]
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([, line]) => line)
    .join("");
}

const change = (path: string, content: Uint8Array | null, mode: FileMode = "100644"): FileChange => ({
  path,
  before: base.entries.get(path) ?? null,
  after: content === null ? null : { mode, blobSha: blobShaOf(content, "sha1"), content },
});

const apply = async (changes: readonly FileChange[]): Promise<string> => {
  const changeSet: ChangeSet = { changes };
  return treeAfter(Buffer.from(await renderPatch(home.deps, base, changeSet, never)));
};

describe("renderPatch", () => {
  it("applies with line ends, open ends, bytes, modes, new and deleted files as they are", async () => {
    const changes = [
      change("crlf.txt", Buffer.from("one\r\n2\r\n")),
      change("open end.txt", Buffer.from("one\ntwo\nthree")),
      change("bin.dat", Buffer.from([0, 9, 2, 255, 10])),
      change("run.sh", Buffer.from("#!/bin/sh\n"), "100644"),
      change('dir/ümläut "q".txt', Buffer.from("ö\n"), "100755"),
      change("dir/tab\tname", null),
      change("latin.txt", Buffer.from("caf\xe8\n", "latin1")),
      change("empty", null),
      change("new/link", Buffer.from("../empty"), "120000"),
      change("new/empty", Buffer.alloc(0)),
    ];

    expect(await apply(changes)).toBe(expectedTree(changes));
  });

  it("is empty for no change", async () => {
    expect(await renderPatch(home.deps, base, { changes: [] }, never)).toHaveLength(0);
  });

  it("applies whatever the bytes", async () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 12 }),
      fc
        .array(fc.constantFrom("a", "b", "\n", "\r\n", "é", " ", "\\ No newline at end of file\n", "--- a\n"), {
          maxLength: 8,
        })
        .map((parts) => new Uint8Array(Buffer.from(parts.join("")))),
    );
    const edit = fc.record({
      content: fc.option(content, { freq: 4 }),
      mode: fc.constantFrom<FileMode>("100644", "100755"),
    });

    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.constantFrom(...paths), edit, { minKeys: 1, maxKeys: 6 }), async (edits) => {
        const changes = Object.entries(edits)
          .map(([path, { content: bytes, mode }]) => change(path, bytes, mode))
          .filter(({ before, after }) =>
            after === null ? before !== null : before?.blobSha !== after.blobSha || before.mode !== after.mode,
          );

        expect(await apply(changes)).toBe(expectedTree(changes));
      }),
      { numRuns: 12 },
    );
  });
});
