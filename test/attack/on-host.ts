import { spawn, spawnSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { chmodSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ListenOptions } from "node:net";
import { join } from "node:path";
import { type RawCall, rawCall, readResults, systemCallProgram } from "../../src/workspace/index.ts";
import type { TestHome } from "../support/checkout.ts";

/** Makes system calls on the host: for what a test prepares there, never for a probe. */
export function callsOnHost(home: Pick<TestHome, "folder">, ...calls: readonly RawCall[]): readonly number[] {
  const path = join(home.folder, `calls-${randomBytes(4).toString("hex")}`);
  writeFileSync(path, systemCallProgram(calls));
  chmodSync(path, 0o755);
  const results = readResults(spawnSync(path).stdout, calls.length);
  rmSync(path);
  if (results === null) throw new Error("the program did not end");
  return results;
}

/** A piece of System V shared memory that any user may read; by its key any process of the same namespace finds it. */
export function sharedMemory(home: TestHome): Disposable & { readonly key: number } {
  const key = randomInt(1, 2 ** 31);
  const createExclusively = 0o3000;
  const [id = -1] = callsOnHost(home, rawCall("shmget", key, 4096, createExclusively | 0o666));
  if (id < 0) throw new Error(`shmget answers ${id}`);
  const remove = 0; // IPC_RMID
  return { key, [Symbol.dispose]: () => void callsOnHost(home, rawCall("shmctl", id, remove, 0)) };
}

/** A process of the host with a word of its own in its command line, and another in its environment. */
export async function hostProcess(owner: { readonly uid: number; readonly gid: number } | null) {
  const [word, secret] = [randomBytes(8).toString("hex"), randomBytes(8).toString("hex")];
  const child = spawn("/bin/bash", ["-c", "echo ready; read -r", word], {
    cwd: "/",
    env: { PLANTED: secret },
    stdio: ["pipe", "pipe", "ignore"],
    ...owner,
  });
  await once(child.stdout, "data");
  const { pid } = child;
  if (pid === undefined) throw new Error("no process came to be");
  return {
    ...{ pid, word, secret },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

/** Waits on the host for what gets out of a sandbox, and tells each that it was heard. */
export async function listeners(home: Pick<TestHome, "folder">) {
  await using undo = new AsyncDisposableStack();
  const heard: string[] = [];
  const listen = async (kind: string, where: ListenOptions) => {
    const server = createServer((socket) => {
      heard.push(kind);
      socket
        .on("error", () => {})
        .resume()
        .end("heard\n");
    });
    server.listen(where);
    await once(server, "listening");
    undo.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return server;
  };
  const tcp = await listen("tcp", { host: "127.0.0.1", port: 0 });
  const abstractName = randomBytes(8).toString("hex");
  await listen("abstract", { path: `\0${abstractName}` });
  const socketPath = join(home.folder, `socket-${abstractName}`);
  await listen("path", { path: socketPath });
  chmodSync(socketPath, 0o666);
  const udp = createSocket("udp4", (message, sender) => {
    heard.push(message.toString("latin1").includes("countersign-test") ? "dns" : "udp");
    udp.send("heard\n", sender.port, sender.address);
  });
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  undo.defer(() => new Promise<void>((resolve) => udp.close(resolve)));
  const address = tcp.address();
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  const held = undo.move();
  return {
    ...{ heard, abstractName, socketPath, tcpPort: address.port, udpPort: udp.address().port },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** The host's own namespace of a kind, as `readlink` shows it. */
export const hostNamespace = (kind: string): string => readlinkSync(`/proc/self/ns/${kind}`);

/** A setting of the host's kernel; null where it has none of that name. */
export function hostSetting(path: string): string | null {
  try {
    return readFileSync(`/proc/sys/${path}`, "utf8").trim();
  } catch {
    return null;
  }
}
