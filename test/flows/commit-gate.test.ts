import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Countersign, openCountersign } from "../support/countersign.ts";
import { call, finish, startPlannedModel } from "../support/planned-model.ts";
import { letters, plantedPem } from "../support/planted-secrets.ts";
import { RunReport, readJson } from "../support/run-report.ts";
import { writeTinyRepository } from "../support/tiny-repository.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let countersign: Countersign;

beforeAll(async () => {
  countersign = await openCountersign("shared");
  writeFileSync(join(countersign.folder, "issue.md"), "# Write a note\n");
});
afterAll(() => countersign[Symbol.asyncDispose]());

/** A run whose model lets one command write and finishes; what it printed, and its report. */
async function runCommand(name: string, script: string, files: Readonly<Record<string, string>> = {}) {
  const repository = await writeTinyRepository(join(countersign.folder, name), files);
  await using model = await startPlannedModel([call("run_command", { command: script }), finish]);
  const environment = { OPENAI_BASE_URL: model.baseUrl, OPENAI_MODEL: "planned" };
  const argv = ["run", "--repo", repository, "--issue", "issue.md", "--json"];
  const ended = await countersign.inProcess(argv, environment);
  return { ended, report: readJson(RunReport, ended) };
}

describe("a command that writes where no file tool may (AT-18, SEC-95, SEC-96)", () => {
  it("gets nothing below `.github` out, neither by writing nor as an end of a rename", async () => {
    const workflow = "on: push\n";
    const script = [
      "mkdir -p .github/actions/a docs && mv extra.txt .github/actions/a/action.yml",
      "mv plain.txt .github/workflows/moved.yml",
      "mv .github/workflows/ci.yml docs/ci.yml",
      "echo x >>.github/countersign.yml",
      "ln -s /etc/passwd .github/workflows/link.yml || true; rm -f .github/workflows/link.yml",
      "echo fine >note.txt",
    ].join("; ");
    const files = { ".github/workflows/ci.yml": workflow, "plain.txt": "plain\n", "extra.txt": "extra\n" };

    const { report } = await runCommand("renames", script, files);

    expect(report.withheld).toEqual([
      { path: ".github/actions/a/action.yml", policy_ids: ["floor:github_actions"] },
      { path: ".github/countersign.yml", policy_ids: ["floor:countersign_settings"] },
      { path: ".github/workflows/ci.yml", policy_ids: ["floor:github_workflows"] },
      { path: ".github/workflows/moved.yml", policy_ids: ["floor:github_workflows"] },
    ]);
    expect(report.patch).toContain("note.txt");
    expect(report.patch).not.toContain(".github/");
  });
});

describe("files that are refused one by one (SEC-98, SEC-99)", () => {
  it("are withheld and named with the gate's rule, and the rest is verified and kept", async () => {
    const script = [
      "printf 'a\\0b' >logo.dat",
      "printf 'const a = \"x\\u202ey\";\\n' >hidden.js",
      "printf 'x\\n' >\"$(printf 'na\\u00adme.txt')\"",
      "printf 'old\\u202e\\nnew\\n' >known.js",
      "echo A=1 >.env.local; echo key >id_rsa; mkdir -p dist; echo x >dist/out.js; echo x >core.12",
      "echo fine >note.txt",
    ].join("; ");

    const { report } = await runCommand("refused", script, { "known.js": "old\u202e\n" });

    const withheld = Object.fromEntries(report.withheld.map(({ path, policy_ids }) => [path, policy_ids]));
    expect(withheld).toEqual({
      ".env.local": expect.arrayContaining(["secret-file"]),
      "core.12": expect.arrayContaining(["generated"]),
      "dist/out.js": expect.arrayContaining(["generated"]),
      "hidden.js": ["gate:invisible_characters"],
      id_rsa: expect.arrayContaining(["secret-file"]),
      "logo.dat": ["gate:binary_file"],
      "na\u00adme.txt": ["gate:invisible_in_name"],
    });
    expect(report.patch).toContain("note.txt");
    expect(report.patch).toContain("known.js");
    expect(report).toMatchObject({ conclusion: "success", diff_stat: { files: 2 } });
  });
});

describe("a secret in the change of a local run (AT-33, SEC-97)", () => {
  it("keeps the run from success, names rule, path and line, and is printed nowhere", async () => {
    const pem = plantedPem();
    const token = `gh${"p"}_${letters(36)}`;
    const script = `mkdir -p lib; cat >lib/key.txt <<'END'\n# secretlint-disable\n${pem}END\necho "t=${token}" >lib/t.txt`;

    const { ended, report } = await runCommand("secret", script);

    expect(report.conclusion).toBe("action_required");
    expect(report.cause).toContain("what looks like a secret (private-key) in lib/key.txt, line 2");
    expect(report.cause).toContain("what looks like a secret (github-token) in lib/t.txt, line 1");
    const kept = await countersign.inProcess(["runs", "patch", report.run_id]);
    const shown = await countersign.inProcess(["runs", "show", report.run_id]);
    const audited = await countersign.inProcess(["audit", "show", report.run_id]);
    const printed = [ended, kept, shown, audited].map(({ stdout, stderr }) => stdout + stderr).join("\n");
    expect(kept.stdout).toContain("[redacted]");
    for (const secret of [token, pem.split("\n")[3] ?? ""]) expect(printed).not.toContain(secret);
  });
});

describe("the command line (SEC-100)", () => {
  it("prints no secret of its environment and nothing of a secret's shape, also in an error", async () => {
    const key = letters(40);
    const shaped = `gh${"o"}_${letters(36)}`;
    const environment = { OPENAI_API_KEY: key, OPENAI_MODEL: "m" };
    for (const text of [key, Buffer.from(key).toString("base64"), shaped]) {
      const ended = await countersign.command(["runs", "show", text], environment);

      expect(ended.stderr).toContain("there is no run `[redacted]");
      expect(ended.stderr).not.toContain(text.slice(0, 20));
    }
  });
});
