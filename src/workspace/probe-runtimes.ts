import type { ExecResult } from "../domain/index.ts";

/** What makes each print its version; one that isn't named here may be there all the same. */
const versionOptions = {
  ...{ node: "--version", npm: "--version", rg: "--version", bash: "--version", git: "--version", make: "--version" },
  ...{ python3: "--version", perl: "-V:version", ruby: "--version", php: "--version", java: "-version", go: "version" },
  ...{ rustc: "--version", cargo: "--version", gcc: "--version", dotnet: "--version", bun: "--version" },
};

/** The runtimes that a setup or verify command will find inside, with versions (SEC-44): a list, no barrier. */
export async function listRuntimes(runScript: (script: string) => Promise<ExecResult>): Promise<string> {
  const lines = Object.entries(versionOptions).map(
    ([name, option]) =>
      `command -v ${name} >/dev/null && printf '${name}\\t%s\\n' "$(${name} ${option} 2>&1 | tr '\\n' ' ')" &`,
  );
  const { output } = await runScript(`${lines.join("\n")}\nwait\n`);
  const said = Buffer.from(output)
    .toString("utf8")
    .matchAll(/^(\S+)\t\D*(\d+(?:\.\d+)*)?/gm);
  const versions = new Map(Array.from(said, ([, name, version = "(version unknown)"]) => [name, version]));
  const found = Object.keys(versionOptions).flatMap((name) => {
    const version = versions.get(name);
    return version === undefined ? [] : [`${name} ${version}`];
  });
  return found.length === 0 ? "none" : found.join(", ");
}
