import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { commitOnce } from "../../src/demo/index.ts";

/** A repository with one commit of these files. Without a settings file of their own the tests are `test -f value.txt`. */
export async function writeTinyRepository(
  folder: string,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const settings = "version: 1\nverify: { run: test -f value.txt, timeout_s: 600 }\n";
  const all = { "value.txt": "one\n", ".github/countersign.yml": settings, ...files };
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await commitOnce(folder, "A tiny repository", new AbortController().signal);
  return folder;
}
