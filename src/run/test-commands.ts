import { z } from "zod";
import type { RunDeps } from "./run-deps.ts";
import type { Session } from "./session.ts";

const Manifest = z.object({ scripts: z.record(z.string(), z.unknown()).optional() });

/** The texts of the base that say how the tests are run: the command, the manifest's scripts for it, the Makefile. */
export async function testCommands(deps: RunDeps, { base, settings }: Session): Promise<readonly string[]> {
  const read = async (path: string): Promise<string> =>
    new TextDecoder().decode((await deps.workspace.readBaseFile(base, path)) ?? new Uint8Array());
  const makefiles = await Promise.all(["GNUmakefile", "makefile", "Makefile"].map(read));
  return [settings.verify?.run ?? "", ...testScripts(await read("package.json")), ...makefiles];
}

function testScripts(manifest: string): readonly string[] {
  try {
    const scripts = Manifest.parse(JSON.parse(manifest)).scripts ?? {};
    return ["pretest", "test", "posttest"].map((name) => String(scripts[name] ?? ""));
  } catch {
    return []; // no manifest, or none that npm could read
  }
}
