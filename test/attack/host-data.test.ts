import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aHome, type TestHome } from "../support/checkout.ts";
import { type AttackRoom, endAmongOthers, openAttackRoom } from "./in-sandbox.ts";
import { hostProcess } from "./on-host.ts";
import { type Weakness, weaknesses } from "./weak-bubblewrap.ts";

let home: TestHome;
let whole: AttackRoom;
let other: AttackRoom;
/** What a service keeps and what another run works on; readable by anyone, so that the mounts alone keep it away. */
let planted: Readonly<Record<string, string>>;
const secret = randomBytes(12).toString("hex");

beforeAll(async () => {
  home = aHome();
  whole = await openAttackRoom(home);
  other = await openAttackRoom(home);
  await other.shell(`echo ${secret} >other.txt`);
  chmodSync(join(other.workspace.folder, ".."), 0o755);
  chmodSync(other.workspace.folder, 0o755);
  const service = join(home.folder, "service");
  mkdirSync(service);
  chmodSync(service, 0o755);
  planted = {
    "the service's configuration": join(service, "service.env"),
    "the App's key": join(service, "app.pem"),
    "another run's folder": join(other.workspace.folder, "other.txt"),
  };
  for (const path of Object.values(planted).slice(0, 2)) {
    writeFileSync(path, `${secret}\n`);
    chmodSync(path, 0o644);
  }
});

afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await whole[Symbol.asyncDispose]();
  home.dispose();
});

describe("what lies on the host (AT-23)", () => {
  it.each(["the service's configuration", "the App's key", "another run's folder"])(
    "is not there inside: %s; a control that binds it reads it",
    async (name) => {
      const path = planted[name] ?? "";
      const careless: Weakness = { removed: [], added: ["--ro-bind", path, path] };
      await using control = await openAttackRoom(home, { weakness: careless });

      expect(readFileSync(path, "utf8").trim()).toBe(secret);
      expect((await whole.shell(`cat '${path}'`)).text).toContain("No such file or directory");
      expect((await control.shell(`cat '${path}'`)).text.trim()).toBe(secret);
    },
  );

  it("is not there inside: a home, /root, /var, /run, /sys, /boot, /srv, /mnt", async () => {
    const { text } = await whole.shell(
      "cd / && ls -d root var run sys boot srv mnt media 2>/dev/null; ls -A /home /etc",
    );

    expect(text).toMatch(/^\/etc:\n[\s\S]*\n\/home:\nagent\n$/);
    const etc = text.split("\n\n")[0]?.split("\n").slice(1) ?? [];
    const listed = ["alternatives", "group", "hosts", "ld.so.cache", "passwd", "resolv.conf", "ssl"];
    expect(etc.filter((name) => !listed.includes(name))).toEqual([]);
  });

  it("is out of reach by descriptors, working folders or roots of any process", async () => {
    const { text } = await whole.shell(
      "for one in /proc/[0-9]*; do readlink $one/cwd $one/root $one/fd/*; done 2>/dev/null | sort -u",
    );

    // A program that starts beside the look has a library or its locale open: what the sandbox itself shows.
    for (const line of text.trim().split("\n")) {
      expect(line).toMatch(
        /^(\/|\/newroot|\/workspace|\/usr\/lib\/\S+|\/dev\/null|\/opt\/command\/\w+|\/proc(\/\d+\/fd)?|(pipe|anon_inode):\S+|.*\/pipes\/\S+.*)$/,
      );
    }
    expect(text).not.toContain(secret);
  });
});

describe("the environment of the host (AT-23)", () => {
  it("is not in a process that can be seen; a control without --unshare-pid sees one, and still can't read its environment", async () => {
    await using running = await hostProcess(null);
    await using control = await openAttackRoom(home, { weakness: weaknesses["--unshare-pid"] });
    const read = `cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; ${endAmongOthers}`;

    expect((await whole.shell(read)).text).not.toContain(running.secret);
    expect((await control.shell(`cat /proc/${running.pid}/cmdline; ${endAmongOthers}`)).text).toContain(running.word);
    expect((await control.shell(read)).text).not.toContain(running.secret);
  });

  it("is not in env, which has the listed names alone", async () => {
    const { text } = await whole.shell("env | cut -d= -f1 | sort | tr '\\n' ' '");

    expect(text).toBe(
      "CI DEBIAN_FRONTEND GIT_EDITOR GIT_PAGER GIT_SEQUENCE_EDITOR GIT_TERMINAL_PROMPT HOME LANG NO_COLOR PAGER PATH PWD PYTHONDONTWRITEBYTECODE SHLVL TERM TMPDIR TZ _ ",
    );
  });
});
