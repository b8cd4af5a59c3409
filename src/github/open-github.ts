import type { Github, GithubDeps, GithubSettings } from "./github.ts";

/** Opened once a process. */
export function openGithub(_deps: GithubDeps, _settings: GithubSettings): Github {
  throw new Error("not built yet");
}
