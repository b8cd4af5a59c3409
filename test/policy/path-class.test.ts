import { describe, expect, it } from "vitest";
import { protectionOf, protections, riskOf } from "../../src/policy/index.ts";
import { aPath } from "../support/policy-requests.ts";

const examples: Readonly<Record<(typeof protections)[number], readonly string[]>> = {
  manifest: [
    "package.json",
    "packages/a/package.json",
    "pyproject.toml",
    "requirements-dev.txt",
    "Cargo.toml",
    "go.mod",
    "Gemfile",
  ],
  lockfile: ["package-lock.json", "pnpm-lock.yaml", "yarn.lock", "poetry.lock", "Cargo.lock", "go.sum", "sub/uv.lock"],
  package_manager: [
    ".npmrc",
    ".yarnrc.yml",
    ".yarn/releases/yarn.cjs",
    "pnpm-workspace.yaml",
    "pip.conf",
    ".cargo/config.toml",
  ],
  code_owners: ["CODEOWNERS", "docs/CODEOWNERS", ".github/CODEOWNERS"],
  git_settings: [".gitattributes", "src/.gitattributes", ".gitmodules"],
  github_folder: [".github/dependabot.yml", ".github/ISSUE_TEMPLATE/bug.md", ".github/FUNDING.yml"],
  agent_instructions: [
    "AGENTS.md",
    "src/AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    "docs/contributing.rst",
    "CONTRIBUTING",
    ".cursor/rules/a.mdc",
    ".claude/settings.json",
    ".mcp.json",
  ],
  editor_tasks: [
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".devcontainer/devcontainer.json",
    ".devcontainer.json",
    "a.code-workspace",
    ".exrc",
  ],
  test_or_build: [
    "vitest.config.ts",
    "jest.config.js",
    "Makefile",
    "conftest.py",
    "tsconfig.json",
    ".husky/pre-commit",
    "tox.ini",
    "Dockerfile",
  ],
  secret_file: [
    ".env",
    ".env.production",
    "deploy/.envrc",
    "certs/server.pem",
    "tls.key",
    "id_rsa",
    "home/.ssh/id_ed25519",
    "id_deploy",
  ],
  generated: [
    "node_modules/left-pad/index.js",
    "packages/a/node_modules/b/c.js",
    ".venv/bin/activate",
    "src/__pycache__/a.pyc",
    "dist/bundle.js",
    "build/out.o",
    "core",
    "core.4711",
  ],
};
const ordinary = [
  "src/app.ts",
  "README.md",
  "docs/package.md",
  ".gitignore",
  "github/x",
  "src/makefile.ts",
  "test/app.test.ts",
  "lock.json",
  "src/build/plan.ts",
  "environment.ts",
  "id_card.ts",
  "id_rsa.pub",
  "core/index.ts",
  "keys.md",
];

describe("a protected path", () => {
  it.each(protections)("of the kind %s is known, in every letter case and without what is not seen", (protection) => {
    for (const path of examples[protection]) {
      expect([path, protectionOf(path)]).toEqual([path, protection]);
      expect([path, protectionOf(path.toUpperCase())]).toEqual([path, protection]);
      expect([path, protectionOf(`${path.slice(0, 3)}\u200b${path.slice(3)}`)]).toEqual([path, protection]);
      expect([path, protectionOf(`src/../${path}`)]).toEqual([path, protection]);
    }
  });

  it("is not every path", () => {
    for (const path of ordinary) expect([path, protectionOf(path)]).toEqual([path, null]);
  });
});

describe("the risk of an action (AUD-28)", () => {
  it("is raised by a change of a protected path, as asked for or as resolved", () => {
    for (const kind of ["write_path", "create_path", "delete_path"] as const) {
      expect(riskOf("RESTRICTED", "edit_file", [aPath("src/a.ts"), aPath("package.json", { kind })])).toBe("DANGEROUS");
      expect(riskOf("RESTRICTED", "edit_file", [aPath("src/a.ts", { requested: ".npmrc", kind })])).toBe("DANGEROUS");
    }
  });

  it("is not raised by reading, and never lowered", () => {
    expect(riskOf("SAFE", "read_file", [aPath("package.json", { kind: "read_path" })])).toBe("SAFE");
    expect(riskOf("RESTRICTED", "edit_file", [aPath("src/a.ts")])).toBe("RESTRICTED");
    expect(riskOf("DANGEROUS", "read_file", [aPath("src/a.ts", { kind: "read_path" })])).toBe("DANGEROUS");
  });

  it("is always DANGEROUS for the tools of other servers", () => {
    expect(riskOf("SAFE", "mcp__files__read", [])).toBe("DANGEROUS");
  });
});
