/** The files of a base commit: repository-relative paths, and the bytes of one (null where there is no such file). */
export type BaseFiles = {
  readonly paths: Iterable<string>;
  readonly read: (path: string) => Promise<Uint8Array | null>;
};

/** What npm writes into a new manifest: a command that says that there are no tests. */
const npmPlaceholder = /no test specified/;
const makefiles = ["GNUmakefile", "makefile", "Makefile"];

/** The command that the base commit's own manifest names for its tests (GH-131); null where it names none. */
export async function deriveVerify(base: BaseFiles): Promise<string | null> {
  const paths = new Set(base.paths);
  if (paths.has("package.json") && namesTestScript(await text(base, "package.json"))) return "npm test";
  const makefile = makefiles.find((name) => paths.has(name));
  if (makefile !== undefined && /^test[ \t]*:(?![:=])/m.test(await text(base, makefile))) return "make test";
  return derivePython([...paths]);
}

const text = async (base: BaseFiles, path: string): Promise<string> =>
  Buffer.from((await base.read(path)) ?? []).toString("utf8");

function namesTestScript(manifest: string): boolean {
  let value: unknown;
  try {
    value = JSON.parse(manifest);
  } catch {
    return false; // a broken manifest names no test; npm itself will say what is wrong with it
  }
  const script = (value as { scripts?: { test?: unknown } | null } | null)?.scripts?.test;
  return typeof script === "string" && script.trim() !== "" && !npmPlaceholder.test(script);
}

/** unittest looks into folders that are packages; a folder of tests that is none has to be named. */
function derivePython(paths: readonly string[]): string | null {
  const isTest = (path: string): boolean => /^test.*\.py$/.test(path.slice(path.lastIndexOf("/") + 1));
  const tests = paths.filter(isTest);
  if (tests.length === 0 && !paths.includes("pyproject.toml")) return null;
  const plainFolder = ["tests", "test"].find(
    (folder) => tests.some((path) => path.startsWith(`${folder}/`)) && !paths.includes(`${folder}/__init__.py`),
  );
  const seenFromRoot = tests.some((path) => !path.includes("/"));
  if (plainFolder !== undefined && !seenFromRoot) return `python3 -m unittest discover -s ${plainFolder}`;
  return "python3 -m unittest";
}
