import { once } from "node:events";
import type { Command } from "commander";
import { CountersignError, isCountersignError } from "../domain/index.ts";
import type { CliDeps } from "./cli-deps.ts";
import { plain } from "./terminal.ts";

type ServeOptions = { readonly register?: string; readonly organization?: string };

export function addServeCommand(program: Command, deps: CliDeps): void {
  program
    .command("serve")
    .description("run the GitHub App: take its webhooks and do its runs, until a signal")
    .option("--register <address>", "register the App on GitHub first: this machine's public https address")
    .option("--organization <name>", "with --register: the organization that owns the App, instead of you")
    .action((options: ServeOptions) =>
      options.register === undefined ? serve(deps, options) : register(deps, options),
    );
}

/** Done when a signal has come and the work under way has been handed over. */
async function serve(deps: CliDeps, { organization }: ServeOptions): Promise<void> {
  if (organization !== undefined) throw new CountersignError("USAGE", "`--organization` goes with `--register`");
  const say = (line: string): void => deps.terminal.err(plain(`${line}\n`));
  await using service = await deps.openService();
  for (const { name, detail } of service.parts) say(`${name.padEnd(9)} ${detail}`);
  say("ready; Ctrl-C stops it");
  const outage = deps.signal.aborted ? null : await Promise.race([once(deps.signal, "abort"), service.givenUp]);
  say("stopping: runs under way are handed over");
  if (outage instanceof CountersignError) throw outage;
}

function givenUp(error: unknown): never {
  if (!isCountersignError(error, "ABORTED")) throw error;
  throw new CountersignError("ABORTED", error.message, { cause: error, remedy: "start it again when you are ready" });
}

async function register(deps: CliDeps, options: ServeOptions): Promise<void> {
  const say = (line: string): void => deps.terminal.out(plain(`${line}\n`));
  const request = { publicAddress: options.register ?? "", organization: options.organization ?? null };
  const { appId, installUrl, folder, hasWebhookSecret } = await deps
    .register(request, (formUrl, listening) => {
      say(`listening at ${listening}`);
      say(`open ${formUrl}\nin a browser where you are signed in to GitHub; Ctrl-C gives up`);
    })
    .catch(givenUp);
  say(`registered App ${appId}; its credentials are in ${folder} (keep a copy in a safe place)`);
  if (!hasWebhookSecret) say("GitHub made no webhook secret: set one in the App's settings and in WEBHOOK_SECRET");
  say(`next, install it on your repositories: ${installUrl}`);
  say("then start the service: npx --no -- countersign serve");
}
