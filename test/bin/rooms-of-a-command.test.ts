import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** Told by a hook of the child's own loader, one address a line. */
const tellModules = `import { registerHooks } from "node:module";
import { writeSync } from "node:fs";
registerHooks({ load: (url, context, next) => (writeSync(2, url + "\\n"), next(url, context)) });`;

/** Rooms and packages that a command loads. */
async function loadedBy(...argv: readonly string[]): Promise<readonly string[]> {
  const hook = `data:text/javascript,${encodeURIComponent(tellModules)}`;
  const command = ["--import", hook, join(root, "bin", "countersign.mjs"), ...argv];
  const { stderr } = await promisify(execFile)(process.execPath, command, { env: {} });
  const places = Array.from(
    stderr.matchAll(/\/(?:src|node_modules)\/(@[^/\n]+\/[^/\n]+|[^/\n]+)\/\S*$/gm),
    ([, name = ""]) => name,
  );
  return [...new Set(places)].sort();
}

it("loads the rooms of the command that is meant, and no others", async () => {
  expect(await loadedBy("audit", "hash", join(root, "package.json"))).toEqual([
    "app",
    "canonicalize",
    "cli",
    "commander",
    "domain",
  ]);
});
