import { mkdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anyRung, chooseRung, prepareTools, type Rung } from "../../src/workspace/index.ts";
import { aBase, aConfinement, aHome, aWorkspace, shell, type TestHome } from "../support/checkout.ts";
import { type ReachableCheckout, reachableCheckout } from "../support/reachable-checkout.ts";

const prlimit: Rung = { name: "prlimit", place: null, causes: ["a test asked for it"] };
let home: TestHome;
let checkout: ReachableCheckout;
let best: Rung;
beforeAll(() => {
  home = aHome();
  mkdirSync(home.deps.home, { mode: 0o711 });
  best = chooseRung(home.deps, anyRung);
  const native = [`@rolldown/binding-linux-${process.arch}-gnu`, `lightningcss-linux-${process.arch}-gnu`];
  checkout = reachableCheckout(["vitest", "vite", ...native]);
});
afterAll(() => {
  checkout[Symbol.dispose]();
  home.dispose();
});

/** Commands run with the shipped limits, Node inside, and vitest as a folder of the operator's. */
async function inside(rung: Rung, files: Readonly<Record<string, string>>, script: string) {
  const modules = {
    name: "modules",
    folder: dirname(realpathSync(join(checkout.root, "node_modules"))),
    addToPath: false,
  };
  await using workspace = await aWorkspace(home, await aBase(home, files), {
    toolsFolder: await prepareTools(home.deps),
    toolchains: [modules],
    confinement: aConfinement(home, { rung }),
    runUids: rung.name === "prlimit" ? "64381-64384" : "64385",
  });
  return shell(workspace, script, 110_000);
}

describe.each([
  ["the best rung of the machine", () => best],
  ["prlimit alone", () => prlimit],
] as const)("SEC-55: under the shipped limits, on %s", (_name, rung) => {
  it("a program with two WebAssembly memories works", async () => {
    const script = `node -e 'const [a, b] = [0, 1].map(() => new WebAssembly.Memory({ initial: 1, maximum: 65536 }));
a.grow(64); b.grow(64); console.log(a.buffer.byteLength, b.buffer.byteLength)'`;

    const result = await inside(rung(), {}, script);

    expect(result).toMatchObject({ exitCode: 0, limit: null, text: "4259840 4259840\n" });
  });

  it("a vitest suite passes", async () => {
    const files = {
      "package.json": '{ "type": "module" }\n',
      "vitest.config.mjs": 'export default { cacheDir: "/tmp/vite", test: { watch: false } };\n',
      "sum.test.js": 'import { expect, it } from "vitest";\nit("adds", () => expect(1 + 2).toBe(3));\n',
    };

    const result = await inside(
      rung(),
      files,
      "mkdir node_modules; ln -s /opt/modules/node_modules/* node_modules; node node_modules/vitest/vitest.mjs run",
    );

    expect(result.text).toMatch(/1 passed/);
    expect(result).toMatchObject({ exitCode: 0, limit: null });
  });
});
