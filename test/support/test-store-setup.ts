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
    /** Its address with the password, for statements about databases. Empty where no file wants the server. */
    readonly serverUrl: string;
  }
}

/** What `openTestStore` copies. */
export const templateDatabase = "template_migrated";

/** Support that opens a database in the server. */
const wantsServer = /\/(test-store|countersign|github-service|support\/gateway)\.ts"/;
const nameForm = /^countersign-test-(\d+)-(\d+)$/;

/**
 * One embedded server a run of vitest, only if one of this run's files wants it. Each file makes a database of its own in
 * it (`openTestStore`). Each project of a run calls this: the first one sets up for all.
 */
export async function setup({ vitest }: TestProject): Promise<() => Promise<void>> {
  if ("storeHome" in vitest.getProvidedContext()) return () => Promise.resolve();
  removeHomesOfKilledRuns();
  const home = join(tmpdir(), `countersign-test-${process.pid}-${startTimeOf(process.pid)}`);
  mkdirSync(home);
  vitest.provide("storeHome", home);
  let serverUrl = "";
  const end = new AsyncDisposableStack();
  end.defer(() => rmSync(home, { recursive: true, force: true }));
  try {
    if (await isWanted(vitest)) {
      serverUrl = urlOf(home, end.use(await openServer(home)));
      await makeTemplate(home);
    }
  } catch (error) {
    await end.disposeAsync();
    throw error;
  }
  vitest.provide("serverUrl", serverUrl);
  return () => end.disposeAsync();
}

function openServer(home: string, database?: string): Promise<Store> {
  const deps = { randomBytes, notice: () => undefined };
  const options = { databaseUrl: null, home, databaseUid: null, ...(database === undefined ? {} : { database }) };
  return openStore(deps, options, new AbortController().signal);
}

function urlOf(home: string, { address }: Store): string {
  const url = new URL(address);
  url.username = "countersign";
  url.password = readFileSync(join(home, "keys", "database-password"), "utf8").trim();
  return url.href;
}

/** Migrated once, with the queue's own tables: copying it is a fraction of making them anew for each file. Nobody stays connected. */
async function makeTemplate(home: string): Promise<void> {
  await using store = await openServer(home, templateDatabase);
  await store.queue();
}

async function isWanted(vitest: TestProject["vitest"]): Promise<boolean> {
  // Internal to vitest; without it all files are looked at, and the server is started where it isn't needed.
  const { filenamePattern } = vitest as { readonly filenamePattern?: string[] };
  const files = await vitest.globTestSpecifications(filenamePattern);
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
