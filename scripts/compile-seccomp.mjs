// Writes the compiled system call filter anew, after a change of its rules: node scripts/compile-seccomp.mjs
import { writeFileSync } from "node:fs";
import { compileX64Filter } from "../src/workspace/seccomp-rules.ts";

writeFileSync(new URL("../src/workspace/seccomp-x64.txt", import.meta.url), compileX64Filter());
