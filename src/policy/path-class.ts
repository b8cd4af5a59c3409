import type { PathFact, Risk } from "../domain/index.ts";
import { foldedNames } from "./fold-path.ts";

/**
 * Why a path needs a person's yes before it is changed (AUD-28, SEC-96, SEC-98). The floor's own paths are not among them.
 * Policies see it as `context.path.protection`; `none` is everything else.
 */
export const protections = [
  "manifest",
  "lockfile",
  "package_manager",
  "code_owners",
  "git_settings",
  "github_folder",
  "agent_instructions",
  "editor_tasks",
  "test_or_build",
  "secret_file",
  "generated",
] as const;
export type Protection = (typeof protections)[number];

const names = (...list: string[]): ((name: string) => boolean) => {
  const known = new Set(list);
  return (name) => known.has(name);
};

/** By the file's own name, wherever it lies: nested packages are installed and built too. Names are folded. */
const byName: readonly (readonly [Protection, (name: string) => boolean])[] = [
  [
    "lockfile",
    names(
      "package-lock.json",
      "npm-shrinkwrap.json",
      "yarn.lock",
      "pnpm-lock.yaml",
      "bun.lock",
      "bun.lockb",
      "deno.lock",
      "poetry.lock",
      "pdm.lock",
      "uv.lock",
      "pipfile.lock",
      "cargo.lock",
      "go.sum",
      "go.work.sum",
      "gemfile.lock",
      "composer.lock",
      "gradle.lockfile",
      "packages.lock.json",
      "mix.lock",
      "flake.lock",
    ),
  ],
  [
    "manifest",
    (name) =>
      isManifest(name) ||
      /^(requirements|constraints)[^/]*\.(txt|in)$/.test(name) ||
      /\.(gemspec|csproj|fsproj|vbproj|cabal)$/.test(name),
  ],
  [
    "package_manager",
    (name) => isPackageManager(name) || /^\.yarnrc|^\.pnpmfile\.|^pnpmfile\./.test(name) || name === ".node-version",
  ],
  ["code_owners", names("codeowners")],
  ["git_settings", names(".gitattributes", ".gitmodules")],
  [
    "agent_instructions",
    // What tells people how to contribute tells agents too (SEC-19).
    (name) =>
      isInstruction(name) || /^(\.(cursorrules|windsurfrules|clinerules|roorules)|contributing(\.[a-z]+)?)$/.test(name),
  ],
  ["test_or_build", (name) => isBuildFile(name) || isToolSetting(name)],
  ["editor_tasks", (name) => isEditorFile(name) || /\.(code-workspace|sublime-project)$/.test(name)],
  ["secret_file", (name) => isSecretFile.test(name)],
  ["generated", (name) => /^core(\.\d+)?$/.test(name)],
];

const isManifest = names(
  "package.json",
  "pyproject.toml",
  "setup.py",
  "setup.cfg",
  "pipfile",
  "cargo.toml",
  "go.mod",
  "go.work",
  "gemfile",
  "composer.json",
  "pom.xml",
  "build.gradle",
  "build.gradle.kts",
  "settings.gradle",
  "settings.gradle.kts",
  "packages.config",
  "directory.packages.props",
  "mix.exs",
  "deno.json",
  "deno.jsonc",
  "flake.nix",
  "environment.yml",
);
const isPackageManager = names(
  ".npmrc",
  "pnpm-workspace.yaml",
  "bunfig.toml",
  "pip.conf",
  "pip.ini",
  "poetry.toml",
  ".condarc",
  ".bowerrc",
  "gradle.properties",
  "gradle-wrapper.properties",
  "uv.toml",
  ".pypirc",
  ".gemrc",
  "nuget.config",
  ".nvmrc",
  ".tool-versions",
  "mise.toml",
  ".mise.toml",
  "lerna.json",
  "rust-toolchain",
  "rust-toolchain.toml",
);
const isInstruction = names(
  "agents.md",
  "agent.md",
  "claude.md",
  "claude.local.md",
  "gemini.md",
  "copilot-instructions.md",
  "contributing.md",
  "qwen.md",
  "warp.md",
  "skill.md",
  ".goosehints",
  ".aider.conf.yml",
  ".mcp.json",
);
/** `.env` and its kin, key files, and keys of OpenSSH by their usual names; the public halves are none. */
const isSecretFile =
  /^\.env|^\.netrc$|\.(pem|key|p12|pfx|jks|keystore|ppk)$|^id_(rsa|dsa|ecdsa|ed25519|xmss)(?!.*\.pub$)|^id_[^.]+$/;
/** Read and obeyed by editors as soon as a folder is opened. */
const isEditorFile = names(
  ".devcontainer.json",
  ".exrc",
  ".nvimrc",
  ".nvim.lua",
  ".vimrc",
  ".lvimrc",
  ".dir-locals.el",
);
const isBuildFile = names(
  "makefile",
  "gnumakefile",
  "cmakelists.txt",
  "dockerfile",
  "justfile",
  "taskfile.yml",
  "taskfile.yaml",
  "rakefile",
  "build.rs",
  "conftest.py",
  "noxfile.py",
  "tox.ini",
  "pytest.ini",
  ".coveragerc",
  "phpunit.xml",
  "gradlew",
  "mvnw",
  "gulpfile.js",
  "gruntfile.js",
  ".travis.yml",
  ".gitlab-ci.yml",
  "appveyor.yml",
  "azure-pipelines.yml",
  "jenkinsfile",
  ".pre-commit-config.yaml",
  "nx.json",
  "turbo.json",
);

/** `vitest.config.ts`, `.mocharc.json`, `tsconfig.build.json` and their like: what test runners and builds read by themselves. */
const settingNames =
  "vite|vitest|jest|playwright|cypress|karma|ava|webpack|rollup|esbuild|tsup|babel|postcss|next|nuxt|svelte|astro|metro";
const toolSetting = new RegExp(`^(${settingNames})\\.(config|workspace|setup)\\.[^/]+$`);
const isToolSetting = (name: string): boolean =>
  toolSetting.test(name) ||
  /^\.(mocharc|nycrc|c8rc|babelrc|swcrc|taprc)/.test(name) ||
  /^tsconfig[^/]*\.json$/.test(name);

/** By a folder of the tree's root or of any level below. */
const byFolder: ReadonlyMap<string, Protection> = new Map<string, Protection>([
  [".claude", "agent_instructions"],
  [".cursor", "agent_instructions"],
  [".windsurf", "agent_instructions"],
  [".clinerules", "agent_instructions"],
  [".codex", "agent_instructions"],
  [".gemini", "agent_instructions"],
  [".agents", "agent_instructions"],
  [".roo", "agent_instructions"],
  [".kiro", "agent_instructions"],
  [".junie", "agent_instructions"],
  [".continue", "agent_instructions"],
  [".augment", "agent_instructions"],
  [".amazonq", "agent_instructions"],
  [".vscode", "editor_tasks"],
  [".idea", "editor_tasks"],
  [".fleet", "editor_tasks"],
  [".zed", "editor_tasks"],
  [".devcontainer", "editor_tasks"],
  [".yarn", "package_manager"],
  [".cargo", "package_manager"],
  [".mvn", "package_manager"],
  [".bundle", "package_manager"],
  [".husky", "test_or_build"],
  [".circleci", "test_or_build"],
  [".buildkite", "test_or_build"],
  ["node_modules", "generated"],
  ["bower_components", "generated"],
  ["jspm_packages", "generated"],
  [".venv", "generated"],
  ["venv", "generated"],
  ["site-packages", "generated"],
  ["__pycache__", "generated"],
  [".tox", "generated"],
  [".gradle", "generated"],
  [".terraform", "generated"],
  [".next", "generated"],
  [".nuxt", "generated"],
  [".pytest_cache", "generated"],
  [".mypy_cache", "generated"],
]);

/** Of the root alone: below it, projects keep sources in folders of these names. */
const generatedAtRoot: ReadonlySet<string> = new Set(["dist", "build", "out", "target", "coverage", "vendor"]);

/** The protection of one spelling of a path, exactly, case-folded and without code points that are not seen; null for none. */
export function protectionOf(path: string): Protection | null {
  const folded = foldedNames(path);
  const name = folded?.at(-1);
  if (folded === null || name === undefined) return null;
  const ofName = byName.find(([, holds]) => holds(name))?.[0];
  if (ofName !== undefined) return ofName;
  for (const folder of folded) {
    const ofFolder = byFolder.get(folder);
    if (ofFolder !== undefined) return ofFolder;
  }
  if (folded[0] === ".github") return "github_folder";
  return folded.length > 1 && generatedAtRoot.has(folded[0] ?? "") ? "generated" : null;
}

/** Requested and resolved path are both looked at; the resolved one has the first word. */
export const protectionOfPath = ({ resolved, requested }: PathFact): Protection | null =>
  protectionOf(resolved) ?? (requested === resolved ? null : protectionOf(requested));

/**
 * The risk of an action with these paths: raised to DANGEROUS by a change to a protected path and for tools of foreign
 * servers, never lowered (AUD-28). Reading a protected file raises nothing.
 */
export function riskOf(baseRisk: Risk, tool: string, paths: readonly PathFact[]): Risk {
  if (tool.startsWith("mcp__")) return "DANGEROUS";
  const dangerous = paths.some((path) => path.kind !== "read_path" && protectionOfPath(path) !== null);
  return dangerous ? "DANGEROUS" : baseRisk;
}
