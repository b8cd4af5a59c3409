import { spawn } from "node:child_process";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, matchesGlob } from "node:path";

/** The least that executes the scripted model's calls in a folder: no policy, ledger or sandbox. Its texts have the gateway's form. */
export type ToolExecutor = (tool: string, rawArguments: string) => Promise<string>;

type Arguments = Readonly<Record<string, unknown>>;
type Edit = { readonly anchor: string; readonly replacement: string };

const maxHits = 50;
const maxBodyBytes = 12_288;
/** A wrong try may make a test run for ever; then it has failed. */
const testLimitMs = 60_000;

/** `testCommand` are the tests: a program of the PATH and its arguments. */
export function createToolExecutor(folder: string, testCommand: readonly string[]): ToolExecutor {
  const tools: Readonly<Record<string, (args: Arguments) => Promise<string>>> = {
    run_tests: () => runTests(folder, testCommand),
    read_file: (args) => readWindow(folder, args),
    search_text: (args) => search(folder, new RegExp(String(args["pattern"]))),
    find_files: (args) => list(folder, String(args["glob"])),
    edit_file: (args) => edit(folder, String(args["path"]), args["edits"] as readonly Edit[]),
    create_file: (args) => create(folder, String(args["path"]), String(args["content"])),
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
  const from = args["line_from"] ?? 1;
  if (typeof from !== "number")
    return `refused: invalid_arguments: line_from: ${JSON.stringify(from)}, expected a number`;
  const lines = (await readFile(join(folder, String(args["path"])), "utf8")).split("\n");
  const shown = lines.slice(from - 1, from - 1 + Number(args["line_count"] ?? 100));
  const body = shown.map((line, index) => `${from + index}\t${line}`);
  return [`ok: ${String(args["path"])}, lines ${from}-${from + shown.length - 1} of ${lines.length}`, ...body].join(
    "\n",
  );
}

async function search(folder: string, pattern: RegExp): Promise<string> {
  const body: string[] = [];
  for (const path of await sourceFiles(folder)) {
    const lines = (await readFile(join(folder, path), "utf8")).split("\n");
    const hits = lines.flatMap((line, index) => (pattern.test(line) ? [`${index + 1}\t${line}`] : []));
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

async function edit(folder: string, path: string, edits: readonly Edit[]): Promise<string> {
  let text = await readFile(join(folder, path), "utf8");
  for (const { anchor, replacement } of edits) {
    const places = text.split(anchor).length - 1;
    if (places === 0) return "refused: anchor_not_found: no such text";
    if (places > 1) return `refused: anchor_ambiguous: the anchor stands at ${places} places`;
    text = text.replace(anchor, () => replacement);
  }
  await writeFile(join(folder, path), text);
  return `ok: ${path} edited\n${edits.map((one) => one.replacement).join("\n")}`;
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
