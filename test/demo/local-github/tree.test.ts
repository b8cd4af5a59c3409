import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { caller, type GithubForTest, openGithub, type Send, tokenFor } from "../../support/local-github.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let at: GithubForTest;
let send: Send;
let folder: string;
let head: string;

beforeAll(async () => {
  at = await openGithub(new AbortController().signal);
  send = caller(at, await tokenFor(at));
  const { id } = (await send("GET", "/repos/ada/sample")).body as { id: number };
  folder = join(at.folder, "repositories", `${id}.git`);
  head = ((await send("GET", "/repos/ada/sample/git/ref/heads/main")).body as { object: { sha: string } }).object.sha;
});
afterAll(() => at[Symbol.asyncDispose]());

const run = promisify(execFile);
const git = async (...args: readonly string[]): Promise<string> =>
  (await run("git", [`--git-dir=${folder}`, ...args])).stdout;

type Entry = {
  readonly path: string;
  readonly mode: "100644" | "100755" | "120000";
  readonly bytes: Uint8Array;
};

const part = fc.stringMatching(/^[a-zé ]{1,4}$/).filter((text) => text.trim() === text);
/** Paths of which none is a folder of another. */
const entries: fc.Arbitrary<readonly Entry[]> = fc
  .uniqueArray(
    fc.record({
      path: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => `new-${parts.join("/")}.x`),
      mode: fc.constantFrom("100644" as const, "100755" as const, "120000" as const),
      bytes: fc.uint8Array({ maxLength: 40 }),
    }),
    { selector: (entry) => entry.path, minLength: 1, maxLength: 5 },
  )
  .map((all) => all.filter((entry) => !all.some((other) => other.path.startsWith(`${entry.path}/`))));

async function write(given: readonly Entry[], removed: readonly string[]): Promise<string> {
  const tree: object[] = [];
  for (const { path, mode, bytes } of given) {
    const content = Buffer.from(bytes).toString("base64");
    const blob = await send("POST", "/repos/ada/sample/git/blobs", { content, encoding: "base64" });
    tree.push({ path, mode, type: "blob", sha: (blob.body as { sha: string }).sha });
  }
  for (const path of removed) tree.push({ path, mode: "100644", type: "blob", sha: null });
  const reply = await send("POST", "/repos/ada/sample/git/trees", { base_tree: head, tree });
  expect(reply.status).toBe(201);
  return (reply.body as { sha: string }).sha;
}

test("a tree written through the API is what git lists: each path, mode and byte", async () => {
  const before = (await git("ls-tree", "-r", "-z", "--full-tree", head)).split("\0").filter(Boolean);
  const present = before.map((row) => row.slice(row.indexOf("\t") + 1));

  await fc.assert(
    fc.asyncProperty(entries, fc.subarray(present), async (given, removed) => {
      const sha = await write(given, removed);

      const rows = (await git("ls-tree", "-r", "-z", "--full-tree", sha)).split("\0").filter(Boolean);
      const wanted = [
        ...before.filter((row) => !removed.includes(row.slice(row.indexOf("\t") + 1))),
        ...(await Promise.all(given.map(rowOf))),
      ];
      expect(rows.toSorted()).toEqual(wanted.toSorted());
      const shown = await send("GET", `/repos/ada/sample/git/trees/${sha}?recursive=1`);
      const { tree } = shown.body as { tree: { mode: string; type: string; sha: string; path: string }[] };
      const blobs = tree.filter(({ type }) => type === "blob");
      expect(blobs.map((row) => `${row.mode} blob ${row.sha}\t${row.path}`).toSorted()).toEqual(wanted.toSorted());
    }),
    { numRuns: 8 },
  );
});

/** The row that git itself makes of an entry: its object id by `git hash-object`, in another process. */
async function rowOf({ path, mode, bytes }: Entry): Promise<string> {
  const child = execFile("git", ["hash-object", "--stdin"]);
  const out = new Promise<string>((resolve) => child.stdout?.on("data", (text: string) => resolve(text.trim())));
  child.stdin?.end(Buffer.from(bytes));
  return `${mode} blob ${await out}\t${path}`;
}

test("a whole tree takes the place of a folder", async () => {
  const inside = await write([{ path: "only.md", mode: "100644", bytes: Buffer.from("only\n") }], []);
  const only = (await git("rev-parse", `${inside}:only.md`)).trim();
  const subtree = await send("POST", "/repos/ada/sample/git/trees", {
    tree: [{ path: "only.md", mode: "100644", type: "blob", sha: only }],
  });
  const { sha } = subtree.body as { sha: string };

  const reply = await send("POST", "/repos/ada/sample/git/trees", {
    base_tree: head,
    tree: [{ path: "src", mode: "040000", type: "tree", sha }],
  });

  const out = await git("ls-tree", "-r", "--name-only", (reply.body as { sha: string }).sha, "src/");
  expect(out).toBe("src/only.md\n");
});

test("a commit without an author is GitHub's own, signed; one with an author is not", async () => {
  const tree = (await git("rev-parse", `${head}^{tree}`)).trim();
  const commit = async (more: object) =>
    (await send("POST", "/repos/ada/sample/git/commits", { message: "One\n\nmore", tree, parents: [head], ...more }))
      .body as { sha: string };

  const ours = await commit({});
  const named = await commit({ author: { name: "Wes", email: "wes@example.org", date: "2026-01-02T03:04:05Z" } });

  expect(ours).toMatchObject({
    message: "One\n\nmore",
    author: { name: "countersign-local[bot]" },
    committer: { name: "GitHub", email: "noreply@github.com" },
    verification: { verified: true, reason: "valid" },
  });
  expect(named).toMatchObject({ verification: { verified: false, reason: "unsigned" } });
  expect(await git("show", "-s", "--format=%an|%ae|%at|%P", named.sha)).toBe(
    `Wes|wes@example.org|${Date.UTC(2026, 0, 2, 3, 4, 5) / 1000}|${head}\n`,
  );
  expect(await git("cat-file", "commit", ours.sha)).toContain("gpgsig -----BEGIN PGP SIGNATURE-----");
  expect(await git("fsck", "--strict", "--no-dangling")).toBe("");
});
