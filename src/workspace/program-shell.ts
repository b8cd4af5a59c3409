import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { findProgram } from "./find-program.ts";
import type { WorkspaceDeps } from "./host.ts";

/** A small program of the host and its arguments. It is given nothing to read, and what it prints is dropped. */
export type SmallProgram = { readonly name: string; readonly argv: readonly string[]; readonly folder: string };

/**
 * Runs a program such as `mount` by a shell that stays. To fork this process takes the longer the more memory it has, and it stands still
 * meanwhile; a shell forks in no time. Answers null where the program ended well, else its first line of complaint.
 */
export function runByShell(
  { searchPath }: Pick<WorkspaceDeps, "searchPath">,
  { name, argv, folder }: SmallProgram,
): Promise<string | null> {
  const [program, sh] = [findProgram(searchPath, name), findProgram(searchPath, "sh")];
  if (program === null || sh === null) {
    return Promise.resolve(`${program === null ? name : "sh"} is in none of \`${searchPath}\``);
  }
  const shell = shells.get(searchPath) ?? new ProgramShell(sh, searchPath);
  shells.set(searchPath, shell);
  return shell.run(`cd ${quoted(folder)} && exec ${[program, ...argv].map(quoted).join(" ")}`);
}

/** One for each search path. */
const shells = new Map<string, ProgramShell>();

/** Between single quotes a shell reads every sign as itself (POSIX, 2.2.2). */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** How the shell tells that a program has ended, after what that one has complained of: no program of ours prints NUL. */
const answerForm = /^([^\0]*)\0(\d+)\n/;

/** Takes one program after another. */
class ProgramShell {
  readonly #stdin: Socket;
  readonly #stdout: Socket;
  readonly #waiting: ((complaint: string | null) => void)[] = [];
  #text = "";

  /** In a session of its own: what the terminal's keys end, it has to clean up after. It ends when this process closes its input. */
  constructor(program: string, searchPath: string) {
    const env = { PATH: searchPath, LC_ALL: "C" };
    const child = spawn(program, [], { cwd: "/", env, stdio: ["pipe", "pipe", "ignore"], detached: true });
    [this.#stdin, this.#stdout] = [child.stdin as Socket, child.stdout as Socket];
    child.unref();
    this.#stdin.unref();
    this.#stdout.unref();
    this.#stdin.on("error", () => {}); // its end says so
    this.#stdout.on("data", (bytes: Buffer) => this.#read(bytes));
    this.#onEnd(child, searchPath);
  }

  run(command: string): Promise<string | null> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#stdout.ref(); // whoever waits keeps this process alive, the shell does not
      this.#stdin.write(`(${command}) </dev/null 2>&1 >/dev/null; printf '\\0%d\\n' $?\n`);
    });
  }

  #read(bytes: Buffer): void {
    this.#text += bytes.toString("utf8");
    for (let answer = answerForm.exec(this.#text); answer !== null; answer = answerForm.exec(this.#text)) {
      const [whole, complaint = "", status = ""] = answer;
      this.#text = this.#text.slice(whole.length);
      const line = complaint.trim().split("\n")[0] || `it ended with ${status}`;
      this.#waiting.shift()?.(status === "0" ? null : line);
    }
    if (this.#waiting.length === 0) this.#stdout.unref();
  }

  #onEnd(child: ChildProcess, searchPath: string): void {
    const end = (cause: string): void => {
      if (shells.get(searchPath) === this) shells.delete(searchPath);
      for (const tell of this.#waiting.splice(0)) tell(cause);
    };
    child.on("error", ({ message }) => end(message));
    child.on("close", () => end("the shell that should have started it has ended"));
  }
}
