import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commitOnce } from "../../demo/index.ts";
import { newRunId } from "../../domain/index.ts";
import type { BaseTree, Workspace } from "../../workspace/index.ts";
import { alternate, timed } from "../alternate.ts";
import type { BenchPlace } from "../bench-place.ts";
import { atMost, type Figure, figure, median, ratio, type Size } from "../figure.ts";
import { printed } from "../floor-loop.ts";
import type { Row } from "./row.ts";

type Extent = {
  readonly rounds: number;
  /** Files of the trees, the largest last. */
  readonly files: readonly number[];
  /** Of making a checkout and discarding it again. */
  readonly cycles: number;
};

const sizes: Readonly<Record<Size, Extent>> = {
  short: { rounds: 1, files: [100, 300], cycles: 4 },
  bench: { rounds: 3, files: [2_000, 50_000], cycles: 40 },
  soak: { rounds: 7, files: [2_000, 50_000], cycles: 200 },
};

const filesPerFolder = 100;

/** `performance.md` section 3: a checkout and its changes beside git's own. */
export const checkoutRow: Row = {
  name: "checkout",
  title: "a checkout beside `git worktree add`, its changes beside `git status`",
  measure: async (place, size, signal) => {
    const { rounds, files, cycles } = sizes[size];
    const trees: MeasuredTree[] = [];
    for (const count of files) trees.push(await measureTree(await openTree(place, count, signal), rounds, signal));
    return [...trees.flatMap(figuresOf), ...growth(trees), ...(await drift(place, files[0] ?? 0, cycles, signal))];
  },
};

/** A repository of so many files, opened as a run does it. */
type Tree = {
  readonly place: BenchPlace;
  readonly count: number;
  readonly repository: string;
  readonly base: BaseTree;
};

async function openTree(place: BenchPlace, count: number, signal: AbortSignal): Promise<Tree> {
  const repository = await makeRepository(join(place.folder, `files-${count}`), count, signal);
  return { place, count, repository, base: await openBase(place, repository, signal) };
}

async function openBase(place: BenchPlace, path: string, signal: AbortSignal): Promise<BaseTree> {
  return (await (await place.runs()).workspace.openBase({ kind: "path", path }, signal)).base;
}

async function checkOut({ place }: Pick<Tree, "place">, base: BaseTree, signal: AbortSignal): Promise<Workspace> {
  const options = { runId: newRunId(place.deps), name: "bench", buildOutput: [], output: { usedBytes: 0 } };
  return (await place.runs()).workspace.createWorkspace(base, options, signal);
}

const looks = ["status", "changes", "readBack"] as const;
const contenders = ["worktree", "first", "next", "pair", "open", "second", "discard", ...looks] as const;
type MeasuredTree = { readonly count: number } & Readonly<Record<(typeof contenders)[number], readonly number[]>>;

async function measureTree(tree: Tree, rounds: number, signal: AbortSignal): Promise<MeasuredTree> {
  const { place, count, repository } = tree;
  await (await checkOut(tree, tree.base, signal))[Symbol.asyncDispose](); // the first one, whose tree the second ones use
  const treeOf = (round: number): string => `${repository}-tree-${round}`;
  let workspace: Workspace | null = null;
  const open = (): Workspace => {
    if (workspace === null) throw new Error("the round has no checkout");
    return workspace;
  };
  /** Only the checkout is timed: what it stands on is fetched and listed before, it is discarded after. */
  const once = async (base: BaseTree): Promise<number> => {
    const startedAt = performance.now();
    const made = await checkOut(tree, base, signal);
    const tookMs = performance.now() - startedAt;
    await made[Symbol.asyncDispose]();
    return tookMs;
  };
  const acts: Readonly<Record<(typeof contenders)[number], (round: number) => Promise<number>>> = {
    worktree: (round) => timed(() => git(repository, "worktree", "add", "--quiet", "--detach", treeOf(round), "HEAD")),
    // to us another folder is another repository, of which nothing is kept yet
    first: async (round) => once(await openBase(place, treeOf(round), signal)),
    next: async (round) => once(await nextCommit(tree, `round ${round}`, signal)),
    // two runs at once have two user ids, and so a tree each
    pair: async (round) => {
      const base = await nextCommit(tree, `two runs of round ${round}`, signal);
      return timed(() => Promise.all([once(base), once(base)]));
    },
    open: () => timed(() => openBase(place, repository, signal)),
    second: async () => {
      const base = await openBase(place, repository, signal);
      return timed(async () => {
        workspace = await checkOut(tree, base, signal);
      });
    },
    status: async (round) => {
      await edit(treeOf(round), count, `edited in round ${round}`);
      return timed(() => git(treeOf(round), "status", "--porcelain"));
    },
    changes: async (round) => {
      await edit(open().folder, count, `edited in round ${round}`);
      return timed(() => oneChange(open().takeChanges()));
    },
    readBack: () => timed(() => oneChange(open().readBack())),
    discard: () => timed(() => open()[Symbol.asyncDispose]()),
  };
  return { count, ...(await alternate(acts, rounds, signal)) };
}

async function nextCommit({ place, count, repository }: Tree, text: string, signal: AbortSignal): Promise<BaseTree> {
  await edit(repository, count, text);
  await git(repository, ...author, "commit", "--quiet", "--all", "--message", text);
  return openBase(place, repository, signal);
}

async function oneChange(reading: ReturnType<Workspace["takeChanges"]>): Promise<void> {
  const read = await reading;
  const found = read.kind === "read" ? read.changeSet.changes.length : read.causes.join("; ");
  if (found !== 1) throw new Error(`one file was edited, found was ${found}`);
}

function figuresOf(measured: MeasuredTree): readonly Figure[] {
  const { worktree, status } = measured;
  const many = `${measured.count} files`;
  const isStated = measured.count >= 50_000;
  const goal = (value: number) => (isStated ? atMost(value) : null);
  return [
    figure(`git worktree add, ${many}`, "ms", worktree),
    figure(`second checkout, ${many}`, "ms", measured.second),
    figure(`discarding it, ${many}`, "ms", measured.discard),
    figure(`first checkout of a repository, ${many}`, "ms", measured.first),
    figure(`first checkout of a next commit, ${many}`, "ms", measured.next),
    figure(`first checkouts of a next commit by two runs at once, ${many}`, "ms", measured.pair),
    figure(`opening a commit that was opened before, ${many}`, "ms", measured.open),
    ratio(`second checkout / worktree add, ${many}`, measured.second, worktree, goal(0.02)),
    ratio(`first checkout of a repository / worktree add, ${many}`, measured.first, worktree, goal(1.2)),
    ratio(`first checkout of a next commit / worktree add, ${many}`, measured.next, worktree, goal(1.2)),
    figure(`git status after one edit, ${many}`, "ms", status),
    figure(`changes after one edit, ${many}`, "ms", measured.changes),
    figure(`read-back after one edit, ${many}`, "ms", measured.readBack),
    ratio(`changes / git status, ${many}`, measured.changes, status, goal(0.15)),
    ratio(`read-back / git status, ${many}`, measured.readBack, status, goal(0.15)),
  ];
}

/** How a second checkout grows with the repository. */
function growth(trees: readonly MeasuredTree[]): readonly Figure[] {
  const [small, large] = [trees[0], trees.at(-1)];
  if (small === undefined || large === undefined || small === large) return [];
  const name = `second checkout, ${large.count} / ${small.count} files`;
  return [figure(name, "x", [median(large.second) / median(small.second)], atMost(1.5))];
}

/** Whether the last of many checkouts takes longer than the first. */
async function drift(
  place: BenchPlace,
  count: number,
  cycles: number,
  signal: AbortSignal,
): Promise<readonly Figure[]> {
  const tree = { place };
  const base = await openBase(place, join(place.folder, `files-${count}`), signal);
  const times: number[] = [];
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    signal.throwIfAborted();
    const cycleMs = await timed(async () => {
      const workspace = await checkOut(tree, base, signal);
      await edit(workspace.folder, count, `cycle ${cycle}`);
      await oneChange(workspace.takeChanges());
      await workspace[Symbol.asyncDispose]();
    });
    times.push(cycleMs);
  }
  const tenth = Math.max(1, Math.floor(cycles / 10));
  const [first, last] = [times.slice(0, tenth), times.slice(-tenth)];
  const name = `last tenth / first tenth of ${cycles} checkouts with an edit, ${count} files`;
  return [
    figure(`a checkout with an edit, read and discarded, ${count} files`, "ms", times),
    figure(name, "x", [median(last) / median(first)], atMost(1.2)),
  ];
}

const pathOf = (file: number): string =>
  join("src", `part-${Math.floor(file / filesPerFolder)}`, `file-${file % filesPerFolder}.js`);

const edit = (folder: string, count: number, text: string): Promise<void> =>
  writeFile(join(folder, pathOf(count - 1)), `${text}\n`);

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
const author = ["-c", "user.name=Countersign Bench", "-c", "user.email=bench@countersign.invalid"];

const git = (folder: string, ...args: readonly string[]): Promise<string> =>
  printed(["git", "-C", folder, ...settings, ...args]);
