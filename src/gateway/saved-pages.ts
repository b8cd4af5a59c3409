import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Of longer output the first 4 MiB and the last 12 MiB reach us (ACI-57); cleaning may lengthen them a little. */
const maxPageBytes = 17 * 1024 * 1024;

/** Output too long to show, kept outside the checkout for as long as the run lives; never part of a change set (ACI-11). */
export type SavedPages = AsyncDisposable & {
  /** Keeps the bytes and gives the page's name, `out:<n>`. */
  keep(bytes: Uint8Array): Promise<string>;
  /** Null where the name is no page, or the page is gone. */
  read(name: string): Promise<Uint8Array | null>;
};

const nameForm = /^out:([1-9]\d{0,8})$/;

/** Whether a path means a page; a file really so named is reached as `./out:7`. */
export const isPageName = (path: string): boolean => nameForm.test(path);

/** `folder` belongs to this run alone and is removed at its end. Numbers begin after `lastNumber`. */
export async function createSavedPages(folder: string, lastNumber = 0): Promise<SavedPages> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let number = lastNumber;
  return {
    async keep(bytes) {
      number += 1;
      const name = `out:${number}`;
      await writeFile(join(folder, `${number}`), bytes.subarray(0, maxPageBytes), { mode: 0o600 });
      return name;
    },
    read(name) {
      const match = nameForm.exec(name);
      if (match?.[1] === undefined) return Promise.resolve(null);
      // A page that is gone (another worker took the run over) is an answer, not a failure.
      return readFile(join(folder, match[1])).catch(() => null);
    },
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true });
    },
  };
}
