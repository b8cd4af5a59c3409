import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { aHome, aRepository, noTools, type TestHome } from "../support/checkout.ts";
import { type ReachableCheckout, reachableCheckout } from "../support/reachable-checkout.ts";

const asRoot = process.geteuid?.() === 0;
/** An ordinary user without an entry in /etc/passwd. */
const user = { uid: 64_399, gid: 64_399 };
let home: TestHome;
let checkout: ReachableCheckout;
beforeAll(() => {
  home = aHome();
  checkout = reachableCheckout(["pg", "pg-boss", "kysely", "zod"]);
});
afterAll(() => {
  home.dispose();
  checkout[Symbol.dispose]();
});

/** Each command and the limit that it must meet; run by `service.ts` below, one after another in one workspace. */
const commands = [
  "bomb() { bomb | bomb & }; bomb; sleep 60",
  "{ head -c 200000000 /dev/zero; sleep 60; } | tail",
  "yes",
  "sleep 60",
  "head -c 10000000 /dev/zero > big; [ $(stat -c %s big) = 1048576 ]",
  "for n in $(seq 800); do : > file$n; done; sleep 1; until false; do :; done",
  "rm -f file*; cat a.txt",
];

// Where the tests run as an ordinary user, test/workspace/limits.test.ts shows the same.
it.runIf(asRoot)("AT-24, SEC-42: a service of an ordinary user holds its sandboxes on the rung that it has", () => {
  const room = (name: string): string => JSON.stringify(join(checkout.root, "src", name, "index.ts"));
  const ownHome = join(home.folder, "user-home");
  const repository = aRepository(join(home.folder, "user-repository"), { "a.txt": "a\n" });
  mkdirSync(ownHome);
  chownSync(ownHome, user.uid, user.gid);
  execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, repository]);
  const script = join(home.folder, "service.ts");
  writeFileSync(
    script,
    `import { registerProcess } from ${room("store")};
import * as room from ${room("workspace")};
import { randomBytes } from "node:crypto";
const home = ${JSON.stringify(ownHome)};
const never = new AbortController().signal;
const registered = (what, entry) => registerProcess(home, what, entry);
const deps = { home, searchPath: room.defaultSearchPath, randomBytes, registerProcess: registered };
const { base } = await room.openBase(deps, { kind: "path", path: ${JSON.stringify(repository)} }, room.defaultTreeLimits, never);
const rung = room.chooseRung(deps, room.anyRung);
const small = { processes: 25, memoryBytes: 134217728, outputBytes: 1000000, idleMs: 3000, fileBytes: 1048576, workInodes: 500 };
const limits = { ...room.defaultSandboxLimits, ...small };
const confinement = { rung, limits, sandboxesAtOnce: room.sandboxesAtOnce(null, rung), output: { usedBytes: 0 } };
const options = {
  ...{ runUids: null, toolsFolder: ${JSON.stringify(noTools(home))}, toolchains: [], environment: {} },
  ...{ limits: room.defaultTreeLimits, buildOutput: [], seccompFilter: null, confinement },
};
await using workspace = await room.createWorkspace(deps, base, options, never);
const ends = [];
for (const script of ${JSON.stringify(commands)}) {
  const result = await workspace.exec({ program: { kind: "shell", script }, timeoutMs: 60000 }, never);
  ends.push(result.limit?.kind ?? result.exitCode);
}
for (const path of [".", "dir"]) {
  const script = "mkdir -p dir; touch dir/x; chmod 0 " + path;
  await workspace.exec({ program: { kind: "shell", script }, timeoutMs: 60000 }, never);
  for (const reading of [await workspace.takeChanges(), await workspace.readBack()]) ends.push(...reading.causes);
}
const mended = { program: { kind: "shell", script: "chmod 755 dir; rm -r dir" }, timeoutMs: 60000 };
ends.push((await workspace.exec(mended, never)).exitCode, (await workspace.readBack()).kind);
process.stdout.write(JSON.stringify({ rung: rung.name, atOnce: confinement.sandboxesAtOnce, ends }));
`,
  );

  const said = execFileSync(checkout.node, [script], { ...user, encoding: "utf8", env: {}, cwd: "/" });

  const closed = (path: string): string => `"${path}" is a folder that is closed to its owner (mode 0000)`;
  const refused = [".", ".", "dir", "dir"].map(closed);
  const expected = ["processes", "memory", "output", "idle", 0, "work_inodes", 0, ...refused, 0, "read"];
  expect(JSON.parse(said)).toEqual({ rung: "prlimit", atOnce: 1, ends: expected });
});
