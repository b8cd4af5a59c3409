import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { isAlive, openStore, type Store, startTimeOf } from "../../src/store/index.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Home of the run's embedded server, outside the checkout: the database's user must be able to reach it. */
    readonly storeHome: string;
  }
}

/** Support that opens a database in the server. */
const wantsServer = /\/(test-store|countersign)\.ts"/;
const nameForm = /^countersign-test-(\d+)-(\d+)$/;

/**
 * One embedded server a run of vitest, only if one of this run's files wants it. Each file makes a database of its own in
 * it (`openTestStore`).
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  removeHomesOfKilledRuns();
  const home = join(tmpdir(), `countersign-test-${process.pid}-${startTimeOf(process.pid)}`);
  mkdirSync(home);
  project.provide("storeHome", home);
  const end = new AsyncDisposableStack();
  end.defer(() => rmSync(home, { recursive: true, force: true }));
  try {
    if (await isWanted(project)) end.use(await openServer(home));
  } catch (error) {
    await end.disposeAsync();
    throw error;
  }
  return () => end.disposeAsync();
}

function openServer(home: string): Promise<Store> {
  const deps = { randomBytes, notice: () => undefined };
  return openStore(deps, { databaseUrl: null, home, databaseUid: null }, new AbortController().signal);
}

async function isWanted(project: TestProject): Promise<boolean> {
  // Internal to vitest; without it all files are looked at, and the server is started where it isn't needed.
  const { filenamePattern } = project.vitest as { readonly filenamePattern?: string[] };
  const files = await project.vitest.globTestSpecifications(filenamePattern);
  return files.some(({ moduleId }) => wantsServer.test(readFileSync(moduleId, "utf8")));
}

/** A server whose folder is gone ends by itself within a minute. */
function removeHomesOfKilledRuns(): void {
  for (const name of readdirSync(tmpdir())) {
    const parts = nameForm.exec(name);
    if (parts === null || isAlive(Number(parts[1]), Number(parts[2]))) continue;
    const home = join(tmpdir(), name);
    if (statSync(home, { throwIfNoEntry: false })?.uid !== process.getuid?.()) continue; // another user's: not ours to remove
    rmSync(home, { recursive: true, force: true });
  }
}
