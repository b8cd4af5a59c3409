import { chownSync, lstatSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BaseTree, defaultTreeLimits, type Workspace, type WorkspaceOptions } from "../../src/workspace/index.ts";
import { aBase, aHome, aWorkspace, checkoutKinds, shell, type TestHome } from "../support/checkout.ts";

let home: TestHome;
let base: BaseTree;

beforeAll(async () => {
  home = aHome();
  base = await aBase(home, {
    ...{ "a.txt": "a\n", "dir/b.txt": "b\n", "dir/deep/c.txt": "c\n" },
    "link-in": { link: "a.txt" },
  });
});

afterAll(() => home.dispose());

/** A file of whoever the work folder belongs to, as a command's would be. */
function mine(folder: string, name: string, text: string): void {
  const { uid, gid } = lstatSync(folder);
  writeFileSync(join(folder, name), text);
  chownSync(join(folder, name), uid, gid);
}

/** What a command makes, and the words that refuse it. */
const refusals: [string, string, RegExp][] = [
  ["a FIFO", "mkfifo pipe", /"pipe" is neither file, folder nor link/],
  ["a socket", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'", /"sock" is neither/],
  ["a hard link", "ln a.txt hard", /has 2 hard links/],
  ["a new link", "ln -s /etc/passwd new", /"new" is a new link/],
  ["a new link that stays inside", "ln -s a.txt new", /"new" is a new link/],
  ["a retargeted link", "ln -sf dir link-in", /"link-in" is a link that leads elsewhere/],
  ["a folder replaced by a link", "mv dir /tmp/d; ln -s /tmp/d dir", /"dir" is a new link/],
  ["a file replaced by a link to itself", "mv a.txt dir/; ln -s dir/a.txt a.txt", /"a.txt" is a new link/],
  ["a nested repository", "mkdir -p dir/.git; echo x > dir/.git/HEAD", /"dir\/.git" is a spelling of `.git`/],
  ["a .git in capitals", "mkdir .GIT", /is a spelling of `.git`/],
  ["the short name of NTFS", "mkdir git~1", /is a spelling of `.git`/],
  ["a stream of NTFS", "touch '.git::$INDEX_ALLOCATION'", /is a spelling of `.git`/],
  ["trailing dots and spaces", "touch '.git . .'", /is a spelling of `.git`/],
  ["an ignorable code point in .git", "touch $'.g\\u200cit'", /is a spelling of `.git`/],
  ["a name that is no UTF-8", "touch $'x\\xff'", /is not valid UTF-8/],
  ["a control byte", "touch $'x\\ny'", /holds a control character/],
  ["a backslash", "touch 'x\\y'", /holds a backslash/],
  ["names equal but for case", "echo x > A.TXT", /can't be told from/],
  ["folders equal but for case", "mkdir DIR; echo x > DIR/x", /can't be told from/],
  ["names equal in NFC", "touch $'e\\u0301' $'\\u00e9'", /can't be told from/],
  ["names equal without ignorable code points", "touch $'a\\u200b.txt'", /can't be told from/],
  ["names equal but for a trailing dot", "touch 'a.txt.'", /can't be told from/],
  ["a tree deeper than the limit", `mkdir -p ${"d/".repeat(70)}`, /lies deeper than 64 levels/],
  ["a closed folder", "mkdir locked; chmod 0 locked", /"locked" is a folder that is closed to its owner \(mode 0000\)/],
  ["a folder of names alone", "mkdir locked; touch locked/x; chmod 0600 locked", /"locked" is a folder that is closed/],
  ["a closed folder of the base", "chmod 0 dir", /"dir" is a folder that is closed/],
  ["a closed work folder", "chmod 0 .", /"\." is a folder that is closed/],
];

/** A copy in memory is read as one on disk is. */
const kinds = checkoutKinds.filter((kind) => kind !== "tmpfs");

describe.each(kinds)("the read-back of a checkout of the kind `%s`", (checkout) => {
  async function withWorkspace(
    work: (workspace: Workspace) => Promise<void>,
    options: Partial<WorkspaceOptions> = {},
  ): Promise<void> {
    await using workspace = await aWorkspace(home, base, { checkout, ...options });
    await work(workspace);
  }

  it("AT-29, AT-30, AT-31, SEC-88: refuses what can't stand in a commit, at once and by name", async () => {
    for (const [name, script, cause] of refusals) {
      await withWorkspace(async (workspace) => {
        const made = await shell(workspace, script);
        expect(made.exitCode, `${name}: ${made.text}`).toBe(0);

        const readings = [await workspace.readBack(), await workspace.takeChanges()];

        for (const reading of readings) {
          expect(reading.kind === "refused" ? reading.causes.join("\n") : "", name).toMatch(cause);
        }
      });
    }
  });

  it("AT-30: refuses a sparse terabyte and other excess without reading it", async () => {
    const limits = { ...defaultTreeLimits, files: 50, changedFiles: 20, changedBytes: 1000, fileBytes: 5000 };
    const excess: [(folder: string) => void, RegExp][] = [
      [
        (folder) => {
          writeFileSync(join(folder, "a.txt"), "");
          truncateSync(join(folder, "a.txt"), 2 ** 40);
        },
        /a file of 1099511627776 bytes/,
      ],
      [
        (folder) => {
          for (let n = 0; n < 60; n++) mine(folder, `n${n}`, "");
        },
        /more than (50 files|20 files changed)/,
      ],
      [
        (folder) => {
          for (let n = 0; n < 30; n++) mine(folder, `n${n}`, "");
        },
        /more than 20 files changed/,
      ],
      [
        (folder) => {
          for (let n = 0; n < 60; n++) mkdirSync(join(folder, `d${n}`));
        },
        /more than 50 new folders/,
      ],
      [
        (folder) => {
          mine(folder, "big", "x".repeat(2000));
        },
        /more than 1000 bytes in changed files/,
      ],
    ];

    for (const [exceed, cause] of excess) {
      await withWorkspace(
        async (workspace) => {
          exceed(workspace.folder);

          const reading = await workspace.readBack();

          expect(reading.kind === "refused" ? reading.causes.join("\n") : "").toMatch(cause);
        },
        { limits },
      );
    }
  });
});
