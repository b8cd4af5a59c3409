import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** Sources and Node where every user can read them. */
export type ReachableCheckout = Disposable & { readonly root: string; readonly node: string };

const checkout = resolve(import.meta.dirname, "../..");
const ownModules = realpathSync(join(checkout, "node_modules"));

/** Whether every user can read this checkout and its packages, and start its Node. */
export const isCheckoutOpenToAll = (): boolean =>
  [checkout, ownModules, realpathSync(process.execPath)].every(isOpenToAll);

/** This checkout, or where others can't enter it, a copy of its sources with the packages named and Node itself. */
export function reachableCheckout(packages: readonly string[]): ReachableCheckout {
  if (isCheckoutOpenToAll()) {
    return { root: checkout, node: process.execPath, [Symbol.dispose]: () => undefined };
  }
  const root = mkdtempSync(join(tmpdir(), "countersign-checkout-"));
  chmodSync(root, 0o755);
  for (const part of ["src", "test/support", "package.json"]) {
    cpSync(join(checkout, part), join(root, part), { recursive: true });
  }
  for (const name of withDependencies(ownModules, packages)) {
    cpSync(join(ownModules, name), join(root, "node_modules", name), { recursive: true });
  }
  const node = join(root, "node");
  copyFileSync(realpathSync(process.execPath), node);
  chmodSync(node, 0o755);
  return { root, node, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}

function isOpenToAll(path: string): boolean {
  const parent = dirname(path);
  return (statSync(path).mode & 0o005) === 0o005 && (parent === path || isOpenToAll(parent));
}

function withDependencies(modules: string, names: readonly string[]): ReadonlySet<string> {
  const found = new Set(names);
  for (const name of found) {
    const manifest = JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")) as {
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    for (const next of Object.keys(manifest.dependencies ?? {})) {
      if (existsSync(join(modules, next))) found.add(next);
    }
  }
  return found;
}
