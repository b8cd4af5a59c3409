import { closeSync, lstatSync } from "node:fs";
import { indexOf } from "./base-index.ts";
import type { Differences } from "./known-tree.ts";
import { openFolder, placeIn } from "./tree-folders.ts";
import { type Comparison, type Neighbours, type Place, TreeJudge, type TreePlace } from "./tree-judge.ts";

/** What a walk found; `judge` holds the files that it came to. */
export type WalkedTree = { readonly judge: TreeJudge; readonly differences: Differences };

/** Reads the whole of a tree in which nothing lives, by descriptors (SEC-86). */
export async function walkTree(place: TreePlace, comparison: Comparison): Promise<WalkedTree> {
  const judge = new TreeJudge(place, comparison);
  const gitlinks = new Set<string>();
  await judge.root(() => walkFolder(judge, gitlinks, place.root, { path: "", depth: 1 }));
  for (const path of indexOf(place.base).gitlinks) if (!gitlinks.has(path)) judge.lostGitlink(path);
  return { judge, differences: judge.differences(goneFiles(judge)) };
}

async function walkFolder(
  judge: TreeJudge,
  gitlinks: Set<string>,
  descriptor: number,
  { path, depth }: Pick<Place, "path" | "depth">,
): Promise<void> {
  const neighbours: Neighbours = new Map();
  for (const at of judge.entriesOf(descriptor, path === "" ? "" : `${path}/`, depth)) {
    const isNew = isNewName(judge.place, at.path);
    if (!judge.mayStand(neighbours, at, isNew)) continue;
    await judge.entry(at, async () => {
      const facts = lstatSync(placeIn(descriptor, at.name), { bigint: true });
      if (!facts.isDirectory()) return judge.leaf(descriptor, at, facts);
      if (!judge.mayEnter(at, facts, isNew)) return;
      const folder = openFolder(descriptor, at.name);
      try {
        if (judge.place.base.entries.get(at.path)?.mode === "160000") {
          gitlinks.add(at.path);
          judge.gitlink(folder, at.path);
        } else await walkFolder(judge, gitlinks, folder, { path: at.path, depth: depth + 1 });
      } finally {
        closeSync(folder);
      }
    });
  }
}

/** Whether neither the base nor the setup has something at the path. */
export const isNewName = ({ base, setUp }: TreePlace, path: string): boolean =>
  !(base.entries.has(path) || indexOf(base).folders.has(path) || setUp.made.has(path));

function* goneFiles({ place, files }: TreeJudge): Generator<string> {
  for (const [path, { mode }] of place.base.entries) if (mode !== "160000" && !files.has(path)) yield path;
}
