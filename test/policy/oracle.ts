/**
 * What AUD-22, AUD-23, AUD-28 and SEC-96 say about a path, written a second time from the design alone and without regular
 * expressions, so that it shares no mistake with the code. Knows only the spellings that the generator below makes.
 */
export type Verdict = "floor" | "dangerous" | "ordinary";

const zeroWidth = [
  "\u200b",
  "\u200c",
  "\u200d",
  "\u2060",
  "\ufeff",
  "\u00ad",
  "\u180e",
  "\u034f",
  "\ufe0f",
  "\u{e0061}",
];
const disguises: Readonly<Record<string, readonly string[]>> = {
  k: ["\u212a"],
  s: ["\u017f"],
  i: ["\uff49"],
  g: ["\uff27"],
};

/** Spellings of a name that a forgiving file system takes for the same. */
export function disguise(name: string, choices: readonly number[]): string {
  let result = "";
  for (const [index, letter] of [...name].entries()) {
    const choice = choices[index % choices.length] ?? 0;
    const same = disguises[letter] ?? [];
    if (choice % 5 === 1) result += letter.toUpperCase();
    else if (choice % 5 === 2) result += letter + (zeroWidth[choice % zeroWidth.length] ?? "");
    else if (choice % 5 === 3 && same.length > 0) result += same[choice % same.length];
    else result += letter;
  }
  return result;
}

function undisguise(name: string): string {
  let result = "";
  for (const letter of name) {
    if (zeroWidth.includes(letter)) continue;
    const plain = Object.entries(disguises).find(([, same]) => same.includes(letter))?.[0];
    result += plain ?? letter.toLowerCase();
  }
  while (result.endsWith(".") || result.endsWith(" ")) result = result.slice(0, -1);
  return result;
}

const dangerousNames = [
  "package.json",
  "yarn.lock",
  ".npmrc",
  "codeowners",
  ".gitattributes",
  ".gitmodules",
  "agents.md",
  "claude.md",
  "contributing.md",
  "makefile",
  "pyproject.toml",
  "vitest.config.ts",
];
const dangerousFolders = [".vscode", ".idea", ".claude", ".cursor"];
const floorBelowGithub = ["workflows", "actions", "countersign.yml"];

function walk(spelled: readonly string[]): readonly string[] {
  const walked: string[] = [];
  for (const name of spelled) {
    if (name === "..") walked.pop();
    else if (name !== "." && name !== "") walked.push(undisguise(name));
  }
  return walked;
}

/** The verdict on a change of the path that these names spell; `..` takes the name before it away. */
export function oracle(spelled: readonly string[]): Verdict {
  const walked = walk(spelled);
  if (walked.includes(".git")) return "floor";
  if (walked[0] === ".github") return floorBelowGithub.includes(walked[1] ?? "") ? "floor" : "dangerous";
  if (dangerousNames.includes(walked.at(-1) ?? "")) return "dangerous";
  return walked.some((name) => dangerousFolders.includes(name)) ? "dangerous" : "ordinary";
}

/** Names to build paths from: protected ones, ordinary ones, and ones that only look alike. */
export const names = {
  hostile: [".git", ".github", "workflows", "actions", "countersign.yml", ...dangerousNames, ...dangerousFolders],
  legitimate: [
    "src",
    "app.ts",
    "docs",
    "git",
    "github",
    "workflow",
    "ci.yml",
    "readme.md",
    "lib",
    "x",
    ".gitkeep",
    "agents",
  ],
  /** Cyrillic and Greek letters: other files to git and GitHub, and to be decided as what they are. */
  lookAlike: [".g\u0456t", ".g\u0456thub", "w\u043erkflows", "p\u0430ckage.json", "\u0410GENTS.md", "\u039cakefile"],
} as const;
