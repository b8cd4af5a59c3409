import type { FileChange } from "../domain/index.ts";
import { type Protection, protectionOf } from "../policy/index.ts";
import { shadowsPython } from "./python-modules.ts";
import { steersRunner } from "./runner-files.ts";

/** Folders and names by which the common runners find tests without being told (node --test, unittest, pytest, go, ...). */
const testFolder = /(^|\/)(tests?|__tests__|specs?|testdata|fixtures|__snapshots__)\//i;
const testName =
  /(^|\/)tests?[^/]*\.py$|(^|\/)tests?[-_.][^/]+$|(^|\/)(tests?|specs?)\.[^/]+$|[-_.](tests?|specs?)\.[^/]+$/i;
/** `HoursTest.java`, `HoursSpec.scala`: told from `latest.java` by their capitals. */
const testClass = /[a-z0-9](Tests?|Spec|IT)\.[a-z]+$/;
const isTest = (path: string): boolean => testFolder.test(path) || testName.test(path) || testClass.test(path);

const judging: ReadonlySet<Protection> = new Set<Protection>([
  "manifest",
  "lockfile",
  "package_manager",
  "test_or_build",
  "github_folder",
  "git_settings",
]);

/** A file of this name that a text of the test command holds is part of the tests, in whatever place it stands there. */
const looksLikeCheck = /check|test|verify|spec|run/i;

/** What ends a word of a shell's; `=` also, so that `--require=ci/setup.js` names its file. */
const betweenWords = /[\s;&|()<>"'`=]+/;
/** A program that is given its own program as a file. */
const interpreter =
  /(^|\/)(ba|da|z|k|a)?sh$|(^|\/)(source|\.|node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|ruby|perl|php|lua|Rscript|env|exec|xargs|time|nice|timeout|sudo|command)$/;

/**
 * Changed paths that judge the change itself, so that a passing run proves nothing (ACI-76): tests of the base that were
 * touched, and whatever steers the runner, also where the change only adds it. A new test file judges nothing that was there
 * before. `commands` are the texts of the test command and of the scripts that it runs.
 */
export function judgedPaths(changes: readonly FileChange[], commands: readonly string[]): readonly string[] {
  const judges = ({ path, before, after }: FileChange): boolean => {
    const protection = protectionOf(path);
    if (protection !== null && judging.has(protection)) return true;
    if (shadowsPython(path) || isRun(path, commands)) return true;
    const isInTests = isTest(path);
    if (steersRunner(path, after?.content ?? null)) return true;
    // a package's own is sources where it is new; in the tests, or where it was there, it decides what is collected
    if (path.endsWith("__init__.py") && (before !== null || isInTests)) return true;
    if (before === null) return false;
    return isInTests || isNamed(path, commands);
  };
  return changes.filter(judges).map(({ path }) => path);
}

/**
 * Whether a command runs the file as a program: its exit is then the file's to say. A file that another program only reads
 * (`awk -f src/sum.awk`, `cc -c src/a.c`) is the code under test. A word may stand in another folder than the root.
 */
function isRun(path: string, commands: readonly string[]): boolean {
  return commands
    .join("\n")
    .split(/[\n;&|()`]+/)
    .some((simple) => {
      const words = simple
        .replace(/^\s*([A-Za-z_]\w*=\S*\s+)+/, "")
        .split(betweenWords)
        .filter((word) => word !== "");
      return words.some((word, index) => {
        const name = word.replace(/^@?-?(\.\/)*/, "");
        if (name === "" || !(name === path || name.endsWith(`/${path}`) || path.endsWith(`/${name}`))) return false;
        return index === 0 || words.slice(0, index).some((earlier) => interpreter.test(earlier.replace(/^[@-]+/, "")));
      });
    });
}

function isNamed(path: string, commands: readonly string[]): boolean {
  return looksLikeCheck.test(path) && commands.some((command) => command.includes(path));
}
