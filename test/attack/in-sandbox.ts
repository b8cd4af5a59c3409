import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type BaseTree,
  type RawCall,
  readResults,
  systemCallProgram,
  type Workspace,
  type WorkspaceOptions,
} from "../../src/workspace/index.ts";
import { aBase, aWorkspace, never, type TestHome } from "../support/checkout.ts";
import { searchPathWithWeakBubblewrap, type Weakness } from "./weak-bubblewrap.ts";

/** What a probe makes sure of before it does anything (SEC-131). */
export type Precondition = "not_root" | "no_new_privileges" | "no_capabilities" | "seccomp" | "nonce";

/** A file of the one test and what it must hold. */
export type Nonce = { readonly file: string; readonly value: string };

/** How a probe that refuses to start ends. */
export const refusedStatus = 99;

const noncePlace = "/opt/nonce"; // a read-only folder of the test alone, bound in as a toolchain is
const preconditions: Readonly<Record<Precondition, (nonce: Nonce) => string>> = {
  not_root: () => '[ "$EUID" -ne 0 ]',
  no_new_privileges: () => "grep -qE '^NoNewPrivs:.1$' /proc/self/status",
  no_capabilities: () => "grep -qE '^CapEff:.0000000000000000$' /proc/self/status",
  seccomp: () => "grep -qE '^Seccomp:.2$' /proc/self/status",
  nonce: ({ file, value }) => `[ "$(cat ${file})" = ${value} ]`,
};

/** Stands before every probe: outside the sandbox that the test made it ends at once (SEC-131). */
export function guard(nonce: Nonce, without: readonly Precondition[] = []): string {
  const asked = Object.entries(preconditions).filter(([name]) => !without.some((one) => one === name));
  return asked
    .map(([name, test]) => `${test(nonce)} 2>/dev/null || { echo 'probe refused: ${name}'; exit ${refusedStatus}; }\n`)
    .join("");
}

/** Last words of a probe that may be among the host's processes: its supervisor would wait for all of them. */
export const endAmongOthers = "kill -KILL $PPID";

export type Probed = { readonly exitCode: number | null; readonly text: string };

/** A throw-away sandbox, real but for the weakness that a control gives it. */
export type AttackRoom = AsyncDisposable & {
  readonly workspace: Workspace;
  /** Runs bash text behind the guard. Throws where the guard refused. */
  readonly shell: (script: string, timeoutMs?: number) => Promise<Probed>;
  /** Makes these system calls behind the guard; an error is its negative number. Null where the program was ended before. */
  readonly calls: (
    ...calls: readonly RawCall[]
  ) => Promise<{ readonly exitCode: number | null; readonly results: readonly number[] | null }>;
};

export type RoomOptions = {
  /** What a control takes away; nothing where the sandbox is to hold. */
  readonly weakness?: Weakness;
  /** Those preconditions that the weakness itself breaks. */
  readonly without?: readonly Precondition[];
  readonly workspace?: Partial<WorkspaceOptions>;
};

/** One repository a home serves all its rooms. */
const bases = new WeakMap<TestHome["deps"], Promise<BaseTree>>();

function baseOf(home: TestHome): Promise<BaseTree> {
  const made = bases.get(home.deps) ?? aBase(home, { "a.txt": "a\n" });
  bases.set(home.deps, made);
  return made;
}

/** Opens a sandbox with a nonce file of its own and the means to attack it from inside. */
export async function openAttackRoom(
  home: TestHome,
  { weakness, without = [], workspace: options = {} }: RoomOptions = {},
): Promise<AttackRoom> {
  const nonce = randomBytes(16).toString("hex");
  const folder = join(home.folder, `nonce-${randomBytes(4).toString("hex")}`, "nonce");
  mkdirSync(folder, { recursive: true });
  chmodSync(join(folder, ".."), 0o755);
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "nonce"), `${nonce}\n`);
  chmodSync(join(folder, "nonce"), 0o644);
  const deps =
    weakness === undefined
      ? home.deps
      : { ...home.deps, searchPath: searchPathWithWeakBubblewrap(home.folder, weakness) };
  const toolchains = [...(options.toolchains ?? []), { name: "nonce", folder, addToPath: false }];
  const workspace = await aWorkspace({ ...home, deps }, await baseOf(home), {
    ...options,
    toolchains,
  });

  const run = async (script: string, timeoutMs = 20_000) => {
    const program = {
      kind: "shell",
      script: `${guard({ file: `${noncePlace}/nonce`, value: nonce }, without)}${script}`,
    } as const;
    const result = await workspace.exec({ program, timeoutMs }, never);
    if (result.exitCode === refusedStatus) throw new Error(Buffer.from(result.output).toString());
    return result;
  };
  return {
    workspace,
    shell: async (script, timeoutMs) => {
      const { exitCode, output } = await run(script, timeoutMs);
      return { exitCode, text: Buffer.from(output).toString() };
    },
    calls: async (...calls) => {
      const name = `calls-${randomBytes(4).toString("hex")}`;
      writeFileSync(join(folder, name), systemCallProgram(calls));
      chmodSync(join(folder, name), 0o755);
      const { exitCode, output } = await run(`exec ${noncePlace}/${name}\n`);
      return { exitCode, results: readResults(output, calls.length) };
    },
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
  };
}
