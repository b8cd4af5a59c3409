import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commitOnce } from "../../demo/index.ts";
import { newRunId } from "../../domain/index.ts";
import type { Workspace } from "../../workspace/index.ts";
import { alternate, timed } from "../alternate.ts";
import type { BenchPlace } from "../bench-place.ts";
import { type Figure, figure, ratio, type Size } from "../figure.ts";
import { printed } from "../floor-loop.ts";
import type { Row } from "./row.ts";

const sizes: Readonly<Record<Size, { readonly rounds: number; readonly files: readonly number[] }>> = {
  short: { rounds: 1, files: [100] },
  bench: { rounds: 3, files: [1_000, 10_000] },
  soak: { rounds: 5, files: [1_000, 10_000, 50_000] },
};

const filesPerFolder = 100;

/** `performance.md` §3: the plain checkout and change detection of this version, beside git's own. */
export const checkoutRow: Row = {
  name: "checkout",
  title: "a checkout beside `git worktree add`, its changes beside `git status`",
  measure: async (place, size, signal) => {
    const { rounds, files } = sizes[size];
    const figures: Figure[] = [];
    for (const count of files) figures.push(...(await measureTree(place, count, rounds, signal)));
    return figures;
  },
};

async function measureTree(place: BenchPlace, count: number, rounds: number, signal: AbortSignal) {
  const repository = await makeRepository(join(place.folder, `files-${count}`), count, signal);
  const { workspace: hands } = await place.runs();
  const { base } = await hands.openBase({ kind: "path", path: repository }, signal);
  await using opened = new AsyncDisposableStack();
  const checkouts: Workspace[] = [];
  const treeOf = (round: number): string => `${repository}-tree-${round}`;
  const options = { runId: newRunId(place.deps), name: "bench", buildOutput: [], output: { usedBytes: 0 } };
  const checkout = async (): Promise<void> => {
    checkouts.push(opened.use(await hands.createWorkspace(base, options, signal)));
  };
  const edit = (folder: string, round: number): Promise<void> =>
    writeFile(join(folder, pathOf(count - 1)), `edited in round ${round}\n`);
  const measured = await alternate(
    {
      worktree: (round) =>
        timed(() => git(repository, "worktree", "add", "--quiet", "--detach", treeOf(round), "HEAD")),
      checkout: () => timed(checkout),
      status: async (round) => {
        await edit(treeOf(round), round);
        return timed(() => git(treeOf(round), "status", "--porcelain"));
      },
      changes: async (round) => {
        const workspace = checkouts[round];
        if (workspace === undefined) throw new Error("the round has no checkout");
        await edit(workspace.folder, round);
        return timed(() => takeOneChange(workspace));
      },
    },
    rounds,
    signal,
  );
  const many = `${count} files`;
  return [
    figure(`git worktree add, ${many}`, "ms", measured.worktree),
    figure(`checkout, ${many}`, "ms", measured.checkout),
    ratio(`checkout / worktree add, ${many}`, measured.checkout, measured.worktree),
    figure(`git status after one edit, ${many}`, "ms", measured.status),
    figure(`changes after one edit, ${many}`, "ms", measured.changes),
    ratio(`changes / git status, ${many}`, measured.changes, measured.status),
  ];
}

async function takeOneChange(workspace: Workspace): Promise<void> {
  const reading = await workspace.takeChanges();
  const found = reading.kind === "read" ? reading.changeSet.changes.length : reading.causes.join("; ");
  if (found !== 1) throw new Error(`one file was edited, found was ${found}`);
}

const pathOf = (file: number): string =>
  join("src", `part-${Math.floor(file / filesPerFolder)}`, `file-${file % filesPerFolder}.js`);

async function makeRepository(folder: string, count: number, signal: AbortSignal): Promise<string> {
  for (let file = 0; file < count; file += 1) {
    if (file % filesPerFolder === 0) await mkdir(join(folder, pathOf(file), ".."), { recursive: true });
    const line = `export const value${file} = ${file}; // one of the files of a measured tree\n`;
    await writeFile(join(folder, pathOf(file)), line.repeat(12));
  }
  await commitOnce(folder, `${count} files`, signal);
  return folder;
}

const settings = ["-c", "checkout.workers=2", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*"];

const git = (folder: string, ...args: readonly string[]): Promise<string> =>
  printed(["git", "-C", folder, ...settings, ...args]);
