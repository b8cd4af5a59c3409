import type { Command } from "commander";
import { late } from "../domain/index.ts";
import type { CliDeps } from "./cli-deps.ts";
import type { RunOptions } from "./work-on-issue.ts";

const workOnIssue = late(async () => (await import("./work-on-issue.ts")).workOnIssue);

export function addRunCommand(program: Command, deps: CliDeps, finish: (exitCode: number) => void): void {
  program
    .command("run")
    .description(
      "work on an issue in a repository and print the patch and the action table; nothing is written anywhere else without --open-pr",
    )
    .requiredOption("--repo <path|url>", "a git repository: a folder, or an https address")
    .requiredOption("--issue <file.md>", "the issue: a Markdown file, its first line the title")
    .option(
      "--open-pr",
      "push the change and open a pull request as the GitHub App; --repo is an address on its GitHub",
    )
    .option("--json", "print one JSON object at the end")
    .action(async (options: RunOptions) => finish(await workOnIssue(deps, options)));
}
