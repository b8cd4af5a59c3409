import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { errorCatalogue } from "../../src/domain/index.ts";

it("docs/errors.md lists every error code with the remedy of the catalogue, and no other", async () => {
  const page = await readFile(join(import.meta.dirname, "../../docs/errors.md"), "utf8");
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (.+?) +\| (yes|no) +\| (.+?) +\|$/gm)];

  const listed = rows.map(([, code, , retryable, remedy]) => ({ code, retryable: retryable === "yes", remedy }));

  const expected = Object.entries(errorCatalogue).map(([code, { retryable, remedy }]) => ({ code, retryable, remedy }));
  expect(listed).toEqual(expected);
});
