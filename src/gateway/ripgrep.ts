import type { ExecResult } from "../domain/index.ts";
import type { Workspace } from "../workspace/index.ts";
import { byteLines } from "./clean-output.ts";
import { decodeWithEscapes } from "./text-bytes.ts";

/** The copy of ripgrep that stands in every sandbox (SEC-44). */
const program = "/opt/tools/bin/rg";

/** Hidden files are searched, git's own folder never is; ignore files hold although the sandbox has no `.git`. */
const common = ["--no-config", "--hidden", "--no-require-git"] as const;
const notGit = ["--glob", "!.git"] as const;

export const searchTimeoutMs = 30_000;
export const countTimeoutMs = 5_000;

export type SearchQuery = {
  readonly pattern: string;
  readonly include: string | null;
  readonly contextLines: number;
  /** A repository-relative path or `.`. */
  readonly path: string;
  readonly ignoreRules: boolean;
};

const rules = (hold: boolean): readonly string[] => (hold ? [] : ["--no-ignore"]);
const globs = (glob: string | null): readonly string[] => [...(glob === null ? [] : ["--glob", glob]), ...notGit];
/** After `--`, and never beginning with a dash: a path is a path whatever it is called. */
const place = (path: string): readonly string[] => ["--", path === "." ? "." : `./${path}`];

/** `maxCount` bounds the matching lines of each file. */
export const searchArgv = (query: SearchQuery, maxCount: number | null = null): readonly string[] => [
  program,
  ...common,
  "--json",
  "--binary",
  ...(maxCount === null ? [] : ["--max-count", `${maxCount}`]),
  ...rules(query.ignoreRules),
  ...(query.contextLines > 0 ? ["--context", `${query.contextLines}`] : []),
  ...globs(query.include),
  "--regexp",
  query.pattern,
  ...place(query.path),
];

/** Matching lines of each file, as `path`, NUL, count. */
export const countArgv = (query: SearchQuery): readonly string[] => [
  program,
  ...common,
  "--count",
  "--null",
  "--with-filename",
  ...rules(query.ignoreRules),
  ...globs(query.include),
  "--regexp",
  query.pattern,
  ...place(query.path),
];

export const filesArgv = (glob: string | null, path: string, ignoreRules: boolean): readonly string[] => [
  program,
  ...common,
  "--files",
  ...rules(ignoreRules),
  ...globs(glob),
  ...place(path),
];

/** Lists one level below each folder and says for what reason entries are left out. */
export const ignoredArgv = (folders: readonly string[]): readonly string[] => [
  program,
  ...common,
  ...["--files", "--debug", "--max-depth", "1", "--"],
  ...folders.map((folder) => (folder === "." ? "." : `./${folder}`)),
];

export function runRipgrep(
  workspace: Workspace,
  argv: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ExecResult> {
  return workspace.exec({ program: { kind: "argv", argv }, timeoutMs }, signal);
}

/** A path as ripgrep prints it, made repository-relative. */
export const plainPath = (printed: string): string => printed.replace(/^\.\//, "");

/** Paths that `--files` printed, and ripgrep's own messages, which arrive between them. */
export function readFileList(result: ExecResult): {
  readonly paths: readonly string[];
  readonly messages: readonly string[];
} {
  const paths: string[] = [];
  const messages: string[] = [];
  for (const bytes of byteLines(result.output)) {
    const line = decodeWithEscapes(bytes).text;
    if (messages.length > 0 && !line.startsWith("./")) messages.push(line);
    else if (line.startsWith("rg: ")) messages.push(line);
    else paths.push(plainPath(line));
  }
  return { paths, messages };
}
