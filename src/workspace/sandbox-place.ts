import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Confinement } from "./confinement.ts";
import type { Owner, WorkspaceDeps } from "./host.ts";
import { makeOutputPipes, type OutputPipes } from "./output-pipes.ts";
import { commandFolderInside, type Toolchain } from "./sandbox-flags.ts";
import type { ExecRequest } from "./workspace.ts";

/** All that the sandboxes of one workspace share. */
export type SandboxPlace = {
  readonly generatedFolder: string;
  readonly toolsFolder: string;
  readonly toolchains: readonly Toolchain[];
  readonly environment: Readonly<Record<string, string>>;
  readonly owner: Owner;
  readonly pipes: OutputPipes;
  readonly confinement: Confinement;
  /** What `seccompFilter` gives, handed to bubblewrap as a descriptor; null is left to tests of what goes without it. */
  readonly seccompFilter: Uint8Array | null;
};

/**
 * Stands between bubblewrap's init and the command. When the command has ended and others still live, it stops itself, so that
 * the host can name them before bubblewrap ends and takes them along (ACI-59). What the shell itself would say
 * of the command's end ("Terminated") goes nowhere.
 */
const supervisor = `exec 3>&2 2>/dev/null
"$@" 2>&3 3>&-
status=$?
set -- /proc/[0-9]*
[ $# -gt 2 ] && kill -STOP $$
exit $status
`;

const generatedFiles = {
  passwd: "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/bash\n",
  group: "root:x:0:\nagent:x:1000:\n",
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost\n",
  empty: "",
};

/** Writes the files that SEC-43 calls GEN and the pipes below `folder`, whatever the umask of the service. */
export async function makeSandboxFolders(
  deps: WorkspaceDeps,
  folder: string,
  owner: Owner,
): Promise<{ readonly generatedFolder: string; readonly pipes: OutputPipes }> {
  const generatedFolder = join(folder, "generated");
  const pipesFolder = join(folder, "pipes");
  makeFolderWith(generatedFolder, 0o755);
  makeFolderWith(join(generatedFolder, "command"), 0o755);
  makeFolderWith(pipesFolder, 0o700);
  for (const [name, text] of Object.entries(generatedFiles)) writeReadable(join(generatedFolder, name), text);
  writeReadable(join(generatedFolder, "command", "supervise"), supervisor);
  return { generatedFolder, pipes: await makeOutputPipes(deps, pipesFolder, owner) };
}

export function makeFolderWith(path: string, mode: number): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
}

function writeReadable(path: string, text: string): void {
  writeFileSync(path, text);
  chmodSync(path, 0o644);
}

/** Lays down a program of our own beside the script of a command; its path inside. */
export function writeProgram(generatedFolder: string, name: string, program: Uint8Array): string {
  const path = join(generatedFolder, "command", name);
  writeFileSync(path, program);
  chmodSync(path, 0o755);
  return `${commandFolderInside}/${name}`;
}

/** What bubblewrap starts inside. A shell's text is laid down as a file: it is never part of a command line (ACI-54). */
export function commandInside(generatedFolder: string, program: ExecRequest["program"]): readonly string[] {
  const supervise = ["/bin/sh", `${commandFolderInside}/supervise`];
  if (program.kind === "argv") return [...supervise, ...program.argv];
  writeReadable(join(generatedFolder, "command", "script"), program.script);
  return [...supervise, "/bin/bash", "--norc", "--noprofile", `${commandFolderInside}/script`];
}
