import { spawn } from "node:child_process";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, matchesGlob } from "node:path";

/** The least that executes the scripted model's calls in a folder: no policy, ledger or sandbox. Its texts have the gateway's form. */
export type ToolExecutor = (tool: string, rawArguments: string) => Promise<string>;

type Edit = { readonly anchor: string; readonly replacement: string };
type Arguments = {
  readonly path: string;
  readonly pattern: string;
  readonly glob: string;
  readonly content: string;
  readonly edits: readonly Edit[];
  readonly line_from?: unknown;
  readonly line_count?: number;
};

const maxHits = 50;
const maxBodyBytes = 12_288;
/** A wrong try may make a test run for ever; then it has failed. */
const testLimitMs = 60_000;

/** `testCommand` are the tests: a program of the PATH and its arguments. */
export function createToolExecutor(folder: string, testCommand: readonly string[]): ToolExecutor {
  const tools: Readonly<Record<string, (args: Arguments) => Promise<string>>> = {
    run_tests: () => runTests(folder, testCommand),
    read_file: (args) => readWindow(folder, args),
    search_text: (args) => search(folder, new RegExp(args.pattern)),
    find_files: (args) => list(folder, args.glob),
    edit_file: (args) => edit(folder, args.path, args.edits),
    create_file: (args) => create(folder, args.path, args.content),
    finish: () => Promise.resolve("ok: the run ends here"),
  };
  return async (tool, rawArguments) => {
    const execute = tools[tool];
    return execute === undefined
      ? `refused: unknown_tool: \`${tool}\``
      : await execute(JSON.parse(rawArguments) as Arguments);
  };
}

async function runTests(folder: string, [program = "", ...args]: readonly string[]): Promise<string> {
  const env = {
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: folder,
    CI: "1",
    NO_COLOR: "1",
  };
  const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], timeout: testLimitMs });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const status = code === 0 ? "ok" : "failed";
  return `${status}: exit code ${code ?? "none"}\n${output.slice(-maxBodyBytes)}`;
}

async function readWindow(folder: string, args: Arguments): Promise<string> {
  const from = args.line_from ?? 1;
  if (typeof from !== "number")
    return `refused: invalid_arguments: line_from: ${JSON.stringify(from)}, expected a number`;
  const lines = (await readFile(join(folder, args.path), "utf8")).split("\n");
  const shown = lines.slice(from - 1, from - 1 + (args.line_count ?? 100));
  const body = shown.map((line, index) => `${from + index}\t${line}`);
  return [`ok: ${args.path}, lines ${from}-${from + shown.length - 1} of ${lines.length}`, ...body].join("\n");
}

async function search(folder: string, pattern: RegExp): Promise<string> {
  const body: string[] = [];
  for (const path of await sourceFiles(folder)) {
    const lines = (await readFile(join(folder, path), "utf8")).split("\n");
    const hits = lines.flatMap((line, index) => (pattern.test(line) ? [`${index + 1}:${line}`] : []));
    if (hits.length > 0) body.push(path, ...hits);
  }
  return body.length === 0 ? "empty: no match" : ["ok: matches", ...body.slice(0, maxHits)].join("\n");
}

async function list(folder: string, glob: string): Promise<string> {
  const paths = (await sourceFiles(folder)).filter((path) => matchesGlob(path, glob));
  return paths.length === 0 ? "empty: no file" : ["ok: files", ...paths.slice(0, maxHits)].join("\n");
}

async function sourceFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.startsWith("."))
    .sort();
}

async function edit(folder: string, path: string, [first]: readonly Edit[]): Promise<string> {
  if (first === undefined) return "refused: invalid_arguments: edits: [], expected 1 to 20";
  const text = await readFile(join(folder, path), "utf8");
  const at = text.indexOf(first.anchor);
  if (at === -1) return "refused: anchor_not_found: no such text";
  if (at !== text.lastIndexOf(first.anchor)) return "refused: anchor_ambiguous: the anchor stands at several places";
  const edited = text.slice(0, at) + first.replacement + text.slice(at + first.anchor.length);
  await writeFile(join(folder, path), edited);
  const number = text.slice(0, at).split("\n").length;
  const shown = edited.split("\n").slice(number - 1, number - 1 + first.replacement.split("\n").length);
  return [`ok: edited ${path}`, ...shown.map((line, index) => `${number + index}\t${line}`)].join("\n");
}

async function create(folder: string, path: string, content: string): Promise<string> {
  if (path.startsWith(".github/")) return "refused: policy_denied: floor-ci";
  const target = join(folder, path);
  const exists = await access(target).then(
    () => true,
    () => false,
  );
  if (exists) return `refused: already_exists: ${path}`;
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, content);
  return `ok: ${path} created`;
}
