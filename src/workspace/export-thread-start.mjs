// Starts a thread of an export. To strip types takes longer than most of what the thread then does: where this process keeps what it
// has stripped (bin/countersign.mjs), the thread takes it from there.
import { enableCompileCache } from "node:module";
import { workerData } from "node:worker_threads";

if (workerData.compileCache !== null) enableCompileCache(workerData.compileCache);
await import("./export-thread.ts");
