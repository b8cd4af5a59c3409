import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refuseForeignHome, translateFileError } from "../../src/store/index.ts";

let home = "";
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "countersign-folder-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const isRoot = process.geteuid?.() === 0;

describe("a service folder", () => {
  it("of one's own, or one that is not there yet, is taken", async () => {
    await expect(refuseForeignHome(home)).resolves.toBeUndefined();
    await expect(refuseForeignHome(join(home, "absent"))).resolves.toBeUndefined();
  });

  it.runIf(isRoot)("of another user is refused to root, with that user's id in the remedy", async () => {
    chownSync(home, 64_198, 64_198);

    await expect(refuseForeignHome(home)).rejects.toMatchObject({
      code: "STORE_PATH_UNREACHABLE",
      remedy: expect.stringContaining("sudo -u '#64198'"),
    });
  });

  it.runIf(isRoot)("with a part that another user owns names that user where the way in is closed", () => {
    const error = Object.assign(new Error("denied"), { code: "EACCES", path: join(home, "keys", "master") });

    expect(translateFileError(error, home)).toMatchObject({
      code: "STORE_PATH_UNREACHABLE",
      remedy: `\`${home}\` belongs to user id 64198: run as that user, or give it to user id 0`,
    });
  });
});
