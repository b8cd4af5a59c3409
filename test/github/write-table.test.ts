import { describe, expect, it } from "vitest";
import { githubWrites } from "../../src/github/index.ts";
import type { WriteRow, WriteTable } from "../../src/github/write-row.ts";
import type { CreateComment } from "../../src/github/writes.ts";

/** That this file compiles is the proof: each line marked so would be an error of its own if the compiler took it (AUD-61). */
describe("the table of writes does not compile", () => {
  const { naturalKey, precondition, recipe, permissions, send, look } = githubWrites.create_comment;
  const { create_comment: _left, ...others } = githubWrites;

  it("where a row lacks its natural key, its precondition or its recipe", () => {
    // @ts-expect-error no natural key
    const keyless: WriteRow<CreateComment> = { precondition, recipe, permissions, send, look };
    // @ts-expect-error no precondition
    const unconditional: WriteRow<CreateComment> = { naturalKey, recipe, permissions, send, look };
    // @ts-expect-error no recipe in words
    const untold: WriteRow<CreateComment> = { naturalKey, precondition, permissions, send, look };
    // @ts-expect-error no way to look
    const blind: WriteRow<CreateComment> = { naturalKey, precondition, recipe, permissions, send };
    // @ts-expect-error no permissions
    const unlimited: WriteRow<CreateComment> = { naturalKey, precondition, recipe, send, look };

    expect([keyless, unconditional, untold, blind, unlimited].map((row) => Object.keys(row).length)).toEqual([
      5, 5, 5, 5, 5,
    ]);
  });

  it("where a write has no row, or another write's", () => {
    // @ts-expect-error a write without a row
    const short: WriteTable = others;
    // @ts-expect-error the row of another write
    const crossed: WriteTable = { ...githubWrites, create_comment: githubWrites.delete_branch };

    expect([Object.keys(short).length, Object.keys(crossed).length]).toEqual([9, 10]);
  });
});
