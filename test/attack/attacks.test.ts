import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { type Attacks, attacks } from "./attacks.ts";

const tests = resolve(import.meta.dirname, "..");
const textOf = (file: string): string => readFileSync(join(tests, `${file}.test.ts`), "utf8");
const quoted = (files: readonly string[]): string => files.map((file) => `\`${file}\``).join(", ");

function cellsOf({ numbers, what, files, asUser }: Attacks): readonly string[] {
  const again = asUser.kind === "again" ? quoted(asUser.files) : `no: ${asUser.why}`;
  return [`AT-${numbers.join(", ")}: ${what}`, quoted(files), again === quoted(files) ? "the same" : again];
}

describe("the list of attacks (SEC-130)", () => {
  it("has each of the design once", () => {
    const numbers = attacks.flatMap((some) => some.numbers).sort((one, other) => one - other);

    expect(numbers).toEqual(Array.from({ length: 37 }, (_, at) => at + 1));
  });

  it("leads to files that name them, for both users", () => {
    const namedIn = (files: readonly string[], number: number): boolean =>
      files.some((file) => new RegExp(`\\bAT-${number}\\b`).test(textOf(file)));

    const lost = attacks.flatMap(({ numbers, files, asUser }) => {
      const lists = asUser.kind === "again" ? [files, asUser.files] : [files];
      return lists.flatMap((list) => numbers.filter((number) => !namedIn(list, number)));
    });
    expect(lost).toEqual([]);
  });

  it("is the table of the threat model", () => {
    const page = readFileSync(resolve(tests, "../docs/threat-model.md"), "utf8");
    const rows = page.split("\n").filter((line) => line.startsWith("| AT-"));
    const cells = rows.map((row) =>
      row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

    expect(cells).toEqual(attacks.map(cellsOf));
  });
});
