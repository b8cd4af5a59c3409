import { describe, expect, it } from "vitest";
import { CountersignError } from "../../src/domain/index.ts";
import { commandLine } from "../support/cli.ts";

describe("bad usage", () => {
  it.each([
    [["fly"], /^countersign: unknown command `fly`; see `countersign --help` \[USAGE\]\n$/],
    [["doctor", "--fast"], /^countersign: unknown option `--fast`; see `countersign doctor --help` \[USAGE\]\n$/],
    [
      ["audit", "show"],
      /^countersign: missing required argument `id`; see `countersign audit show --help` \[USAGE\]\n$/,
    ],
    [["audit", "find", "--actor", "x y"], /--actor: got `x y`, .*; see `countersign audit find --help`/],
  ])("%j is one line that names the command whose help says more", async (argv, line) => {
    const ended = await commandLine(argv, {});

    expect(ended).toMatchObject({ exitCode: 2, out: "" });
    expect(ended.err).toMatch(line);
  });

  it("is not what help and version are", async () => {
    expect(await commandLine(["--version"], {})).toEqual({ exitCode: 0, out: "0.0.0\n", err: "" });
    expect(await commandLine(["runs", "--help"], {})).toMatchObject({ exitCode: 0, err: "" });
  });

  it("says at a registration that was given up how to go on", async () => {
    const register = () => Promise.reject(new CountersignError("ABORTED", "stopped by SIGINT"));

    const ended = await commandLine(["serve", "--register", "https://countersign.example.org"], { register });

    expect(ended.err).toBe("countersign: stopped by SIGINT; start it again when you are ready [ABORTED]\n");
  });
});
