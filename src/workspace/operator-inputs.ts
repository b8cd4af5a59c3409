import { readdirSync, realpathSync, statSync } from "node:fs";
import { CountersignError } from "../domain/index.ts";
import type { Toolchain } from "./sandbox-flags.ts";

/** SEC-101, by name; ACI-56 asks for a part of it. */
const secretName = /KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|AUTH|COOKIE|DSN/i;
/** SEC-101, by shape, as far as one value can show it. */
const secretShape =
  /gh[pousr]_[A-Za-z0-9._-]{36}|github_pat_[A-Za-z0-9_]{22}|eyJ[\w-]+\.eyJ[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY|(AKIA|ASIA)[A-Z0-9]{16}|npm_[A-Za-z0-9]{36}|sk-[A-Za-z0-9_-]{20}|xox[abprs]-|glpat-|:\/\/[^/\s:@]+:[^/\s@]+@/;

const refuse = (cause: string): never => {
  throw new CountersignError("CONFIG_INVALID", cause);
};

/** The operator's further variables, or CONFIG_INVALID for one that may hold a secret (SEC-45). Values are never shown. */
export function checkedEnvironment(environment: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(environment)) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) refuse(`\`${name}\` is no name of a variable`);
    if (secretName.test(name))
      refuse(`the variable \`${name}\` may not enter the sandbox: its name is that of a secret`);
    if (secretShape.test(value))
      refuse(`the variable \`${name}\` may not enter the sandbox: its value looks like a secret`);
    if (value.includes("\0")) refuse(`the value of \`${name}\` holds a NUL`);
  }
  return environment;
}

const forbiddenFolders = ["/root", "/run", "/var", "/sys", "/proc", "/dev", "/etc", "/boot"];
const takenNames = new Set(["tools", "command"]);

/** The operator's toolchain folders by their real paths, or CONFIG_INVALID for one that SEC-44 rules out. */
export function checkedToolchains(toolchains: readonly Toolchain[], home: string): readonly Toolchain[] {
  return toolchains.map((toolchain) => {
    const { name, folder } = toolchain;
    if (!/^[a-z][a-z0-9._-]*$/.test(name) || takenNames.has(name)) refuse(`\`${name}\` can't be a toolchain's name`);
    if (!folder.startsWith("/")) refuse(`the toolchain \`${name}\` must be an absolute path`);
    const real = realFolder(name, folder);
    const isBelow = (parent: string): boolean => real === parent || real.startsWith(`${parent}/`);
    const holds = (child: string): boolean => child === real || child.startsWith(real === "/" ? "/" : `${real}/`);
    const isHome = real === "/home" || /^\/home\/[^/]+$/.test(real);
    if (isHome || holds(home) || isBelow(home) || forbiddenFolders.some((path) => isBelow(path) || holds(path))) {
      refuse(`the toolchain \`${name}\` can't be \`${real}\`: it may hold sockets, secrets or a home`);
    }
    // A read-only mount keeps nobody from connecting. What lies deeper `doctor --sandbox` finds.
    const socket = readdirSync(real, { withFileTypes: true }).find((item) => item.isSocket());
    if (socket !== undefined)
      refuse(`the toolchain \`${name}\` can't be \`${real}\`: it holds the socket \`${socket.name}\``);
    return { ...toolchain, folder: real };
  });
}

function realFolder(name: string, folder: string): string {
  try {
    const real = realpathSync(folder);
    if (statSync(real).isDirectory()) return real;
  } catch {
    // said below
  }
  return refuse(`the toolchain \`${name}\` is no folder: \`${folder}\``);
}
