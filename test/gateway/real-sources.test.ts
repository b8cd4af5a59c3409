import { isUtf8 } from "node:buffer";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { createRedactor, Secret } from "../../src/domain/index.ts";
import { scanForSecrets } from "../../src/gateway/secret-scan.ts";
import { letters } from "../support/planted-secrets.ts";

vi.setConfig({ testTimeout: 240_000 });

const checkout = resolve(import.meta.dirname, "../..");
/** Where a machine with Node, Python and Perl keeps sources that others wrote; what is not there is left out. */
const places: readonly (readonly [folder: string, pattern: string])[] = [
  [join(checkout, "node_modules"), "*/{lib,src,dist,test}/**/*.{js,mjs,cjs}"],
  [join(checkout, "node_modules"), "*/{lib,src,dist,types}/**/*.ts"],
  [join(checkout, "node_modules"), "*/{package.json,README.md,CHANGELOG.md}"],
  [join(checkout, "src"), "**/*.ts"],
  ["/usr/lib/python3.11", "*/*.py"],
  ["/usr/lib/python3.13", "*/*.py"],
  ["/usr/lib/python3", "**/*.py"],
  ["/usr/share/perl", "**/*.{pm,pl}"],
  ["/usr/include", "{linux,sys,c++}/**/*.h"],
];
const wanted = 1_000;
/** Of a source that a person writes and a change holds. */
const largestBytes = 32_768;

/** As many of each place, spread evenly over all that there are, the same at each time. */
function sources(): readonly string[] {
  const byPlace = places.map(([folder, pattern]) => {
    if (!existsSync(folder)) return [];
    return globSync(pattern, { cwd: folder })
      .sort()
      .map((name) => join(folder, name));
  });
  const each = Math.ceil(wanted / byPlace.filter(({ length }) => length > 0).length);
  return byPlace.flatMap((paths) => {
    const step = Math.max(1, Math.floor(paths.length / (1.4 * each))); // some are too large
    return paths.filter((path, at) => at % step === 0 && isSource(path)).slice(0, each);
  });
}

function isSource(path: string): boolean {
  const found = statSync(path);
  return found.isFile() && found.size > 0 && found.size <= largestBytes;
}

describe("real source files of several languages (SEC-101)", () => {
  const redactor = createRedactor([new Secret(letters(40))]);

  it("pass the commit gate's scan as new files, and stand in a prompt as they are", async () => {
    const paths = sources();
    const hits: string[] = [];
    let count = 0;
    for (const path of paths) {
      const bytes = readFileSync(path);
      if (!isUtf8(bytes)) continue;
      const text = bytes.toString("utf8");
      count += 1;
      const found = await scanForSecrets(redactor, [{ path: `src/file.txt`, text, isAdded: () => true }], []);
      hits.push(...found.map(({ rule, line }) => `${path}:${line} ${rule}`));
      if (redactor.redactExact(text) !== text) hits.push(`${path}: changed in a prompt`);
    }

    expect(hits).toEqual([]);
    expect(count).toBeGreaterThanOrEqual(existsSync("/usr/lib/python3.11") ? wanted : wanted / 2);
  });
});
