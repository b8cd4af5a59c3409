import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { commitOnce } from "../../src/demo/index.ts";
import { type Fault, type LibraryFunction, libraryFunctions } from "./library-functions.ts";
import { camelName, pick, type Random, seededRandom, shuffled, word } from "./random.ts";

export type BigRepository = {
  readonly folder: string;
  readonly seed: number;
  /** What a user would write: names the function, or the test that fails. */
  readonly issueText: string;
  readonly testCommand: readonly string[];
  readonly fileCount: number;
  readonly biggestFile: { readonly path: string; readonly lineCount: number };
  /** For assertions only; no solver may see it. */
  readonly planted: {
    readonly file: string;
    readonly functionName: string;
    readonly line: number;
    readonly fault: Fault;
  };
};

const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));
const vendoredPackage = "openai";
const vendoredFiles = 1_100;
const textExtensions = new Set([".ts", ".mts", ".js", ".mjs", ".md"]);
const bigFileLines = 5_200;
/** Functions of ours in the big file; the others are spread over small ones. */
const inBigFile = 4;
const smallFiles = 4;

/** Where the bug may be: in any function, or in one of those in the file of more than 5,000 lines. */
export type Choice = { readonly seed: number; readonly where: "anywhere" | "biggest_file" };

type Placed = { readonly kind: LibraryFunction; readonly name: string; readonly file: string };

/**
 * Writes a repository of more than 1,000 real source files and a library of pure functions with tests, whose names, places
 * and one bug come from the seed. A file of more than 5,000 lines holds some of them between functions of a real compiler.
 */
export async function writeBigRepository(
  folder: string,
  { seed, where }: Choice,
  signal: AbortSignal,
): Promise<BigRepository> {
  const random = seededRandom(seed);
  const vendoredCount = await copyVendored(folder);
  const placed = place(random);
  const sick = pick(random, where === "biggest_file" ? placed.slice(0, inBigFile) : placed);
  const fault = pick(random, sick.kind.faults);
  const sources = await sourcesOf(random, placed, sick, fault);
  const tests = testsOf(placed);
  const files = new Map([...sources, ...tests, ...projectFiles(word(random, 3))]);
  for (const [path, text] of files) await write(join(folder, path), text);
  await commitOnce(folder, `The library, seed ${seed}`, signal);
  const bigPath = placed[0]?.file ?? "";
  return {
    folder,
    seed,
    issueText: issueText(random, sick, fault),
    testCommand: ["node", "--test", "--test-isolation=none", "test/*.test.js"],
    fileCount: vendoredCount + files.size,
    biggestFile: { path: bigPath, lineCount: (sources.get(bigPath) ?? "").split("\n").length },
    planted: {
      file: sick.file,
      functionName: sick.name,
      line: (sources.get(sick.file) ?? "").split("\n").findIndex((line) => line.includes(` ${sick.name}(`)) + 1,
      fault,
    },
  };
}

/** Each function under a name and in a file of its own choice; the first few in the big file. */
function place(random: Random): readonly Placed[] {
  const files = Array.from({ length: smallFiles + 1 }, () => `src/${word(random, 4)}.js`);
  const [big = "", ...small] = files;
  return shuffled(random, libraryFunctions).map((kind, index) => ({
    kind,
    name: camelName(random),
    file: index < inBigFile ? big : (small[index % smallFiles] ?? big),
  }));
}

/** The files of the library, with the fault in the one function that is sick. */
async function sourcesOf(
  random: Random,
  placed: readonly Placed[],
  sick: Placed,
  fault: Fault,
): Promise<Map<string, string>> {
  const bigPath = placed[0]?.file ?? "";
  const blocks = new Map<string, string[]>([[bigPath, await realFunctions(random, placed)]]);
  for (const one of placed) {
    const lines = one.kind
      .lines(one.name)
      .map((line, index) => (one === sick && index > 0 ? line.replace(fault.good, fault.bad) : line));
    const text = [`/** It ${one.kind.title}. */`, ...lines].join("\n");
    const others = blocks.get(one.file) ?? [];
    blocks.set(one.file, others.toSpliced(Math.floor(random() * others.length), 0, text));
  }
  return new Map([...blocks].map(([path, texts]) => [path, `${texts.join("\n\n")}\n`]));
}

/** Top-level functions of a real compiler, from a random one on, until they have enough lines; no name twice. */
async function realFunctions(random: Random, placed: readonly Placed[]): Promise<string[]> {
  const text = await readFile(join(modules, "typescript/lib/typescript.js"), "utf8");
  const found = [...text.matchAll(/^function (\w+)\([^\n]*\) \{\n(?:(?: .*)?\n)+?\}$/gm)];
  const first = Math.floor((random() * found.length) / 2);
  const taken = new Map<string, string>();
  const names = new Set(placed.map((one) => one.name));
  let lines = 0;
  for (const match of found.slice(first)) {
    const name = match[1] ?? "";
    if (taken.has(name) || names.has(name)) continue;
    taken.set(name, match[0]);
    lines += match[0].split("\n").length + 1;
    if (lines > bigFileLines) break;
  }
  return [...taken.values()];
}

function testsOf(placed: readonly Placed[]): ReadonlyMap<string, string> {
  return new Map(
    [...Map.groupBy(placed, (one) => one.file)].map(([file, ones]) => [
      file.replace(/^src\/(.*)\.js$/, "test/$1.test.js"),
      [
        'import assert from "node:assert/strict";',
        'import { test } from "node:test";',
        `import { ${ones.map((one) => one.name).join(", ")} } from "../${file}";`,
        ...ones.flatMap((one) => [
          "",
          `test("${one.kind.title}", () => {`,
          ...one.kind.checks(one.name).map(([call, expected]) => `  assert.deepEqual(${call}, ${expected});`),
          "});",
        ]),
        "",
      ].join("\n"),
    ]),
  );
}

function issueText(random: Random, sick: Placed, fault: Fault): string {
  return random() < 0.5
    ? `# \`${sick.name}\` gives wrong results\n\nIn \`${sick.name}\`, ${fault.symptom}. Its test fails.\n`
    : `# A failing test\n\nThe test "${sick.kind.title}" fails: ${fault.symptom}. Please mend the function, not the test.\n`;
}

const projectFiles = (name: string): readonly (readonly [string, string])[] => [
  ["package.json", `${JSON.stringify({ name, version: "1.0.0", private: true, type: "module" }, null, 2)}\n`],
  ["README.md", `# ${name}\n\nA library of small functions; what it is built with lies in \`vendor\`.\n`],
  [
    ".github/countersign.yml",
    "version: 1\nverify: { run: node --test --test-isolation=none test/*.test.js, timeout_s: 120 }\n",
  ],
];

/** Copies the first text files of an installed package, in path order. */
async function copyVendored(folder: string): Promise<number> {
  const root = join(modules, vendoredPackage);
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && textExtensions.has(extname(entry.name)))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
    .slice(0, vendoredFiles);
  const target = join(folder, "vendor", vendoredPackage);
  for (const parent of new Set(paths.map((path) => dirname(path))))
    await mkdir(join(target, parent), { recursive: true });
  await Promise.all(paths.map((path) => copyFile(join(root, path), join(target, path))));
  return paths.length;
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
