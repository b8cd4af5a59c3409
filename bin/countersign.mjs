#!/usr/bin/env node
// The package's command. It checks the platform, changes over to the pinned Node.js where this one is too old to strip
// types, and only then loads the program.
import { spawn } from "child_process";
import { join } from "path";
import { fileURLToPath } from "url";
import { pinnedNode, requirePinnedNode, requirePlatform, root } from "./platform.mjs";

const oldestMajor = 24;

requirePlatform();
if (Number(process.versions.node.split(".")[0]) >= oldestMajor) {
  // Stripping types and compiling take most of a short command's time. The cache lies with the code that it is made of:
  // whoever may write it may change the code as well. Where nobody may, nothing is cached and nothing fails.
  const { enableCompileCache } = await import("module");
  enableCompileCache(join(root, "node_modules", ".cache", "countersign"));
  const { main } = await import("../src/main.ts");
  process.exitCode = await main();
} else {
  requirePinnedNode();
  const self = fileURLToPath(import.meta.url);
  // The channel closes when this process dies, even by SIGKILL: then the program stops as on SIGTERM.
  const child = spawn(pinnedNode, [self].concat(process.argv.slice(2)), { stdio: [0, 1, 2, "ipc"] });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`countersign: the pinned Node.js does not start: ${error.message}\n`);
    process.exitCode = 2;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = signal === null ? code : 1;
  });
}
