import { once } from "node:events";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { CountersignError, type RandomBytes } from "../domain/index.ts";
import type { RegisteredApp } from "../github/index.ts";
import { refuseForeignHome } from "../store/index.ts";
import { type AppManifest, toRegistration } from "./app-manifest.ts";
import { type CredentialFiles, refuseSecondRegistration, storeCredentials } from "./credentials.ts";
import { listen } from "./listen.ts";
import { callbackPath, type DeskForm, openDesk } from "./register-desk.ts";

export type RegisterDeps = {
  readonly randomBytes: RandomBytes;
  /** Trades the code for the credentials. Throws `REGISTRATION_FAILED`. */
  readonly convert: (code: string, signal: AbortSignal) => Promise<RegisteredApp>;
  /** Gets the address that a person has to open. */
  readonly onReady: (formUrl: string) => void;
};

export type RegisterSettings = {
  /** Where this machine is reached from the internet: scheme and host alone. */
  readonly publicAddress: string;
  readonly host: string;
  readonly port: number;
  readonly webhookPath: string;
  /** Of GitHub's pages, without a slash at its end. */
  readonly githubUrl: string;
  /** The App's owner; null: the person who opens the form. */
  readonly organization: string | null;
  readonly manifest: AppManifest;
  readonly files: CredentialFiles;
};

/** What a person needs to know next. */
export type Registration = {
  readonly appId: number;
  readonly installUrl: string;
  readonly folder: string;
  readonly hasWebhookSecret: boolean;
};

/**
 * Registers a GitHub App by the manifest flow of GitHub's documentation and stores its credentials (GH-150). Serves the form
 * and the callback only, until the App is registered. The form's path can't be guessed: whoever came first could else hand
 * us an App of theirs. Throws `ALREADY_REGISTERED`, `CONFIG_INVALID`,
 * `STORE_PATH_UNREACHABLE`, `USAGE`.
 */
export async function registerApp(
  deps: RegisterDeps,
  settings: RegisterSettings,
  signal: AbortSignal,
): Promise<Registration> {
  const form = formOf(settings);
  await refuseForeignHome(dirname(dirname(settings.files.folder)));
  await refuseSecondRegistration(settings.files);
  const registered = Promise.withResolvers<Registration>();
  const finish = async (code: string): Promise<void> => {
    const app = await deps.convert(code, signal);
    await storeCredentials(deps, settings.files, app);
    registered.resolve(registrationOf(app, settings));
  };
  const desk = openDesk({ ...deps, finish, fail: registered.reject }, form);
  let answered = Promise.resolve();
  const server = createServer((request, response) => {
    answered = desk.answer(request, response);
  });
  await listen(server, settings.host, settings.port);
  try {
    deps.onReady(`${new URL(form.webhookUrl).origin}${desk.formPath}`);
    return await Promise.race([registered.promise, aborted(signal)]);
  } finally {
    const closed = once(server, "close");
    server.close();
    if (!signal.aborted) await answered;
    server.closeAllConnections();
    await closed;
  }
}

function formOf(settings: RegisterSettings): DeskForm {
  const origin = originOf(settings.publicAddress);
  const webhookUrl = `${origin}${settings.webhookPath}`;
  const addresses = { home: origin, webhook: webhookUrl, callback: `${origin}${callbackPath}` };
  const manifest = toRegistration(settings.manifest, addresses);
  return { action: formAction(settings), githubUrl: settings.githubUrl, manifest, webhookUrl };
}

async function aborted(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
}

function originOf(text: string): string {
  const url = URL.parse(text);
  const isLocal = url !== null && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  const isUsable = url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isLocal));
  if (isUsable && url.pathname === "/" && url.search + url.hash + url.username + url.password === "") return url.origin;
  throw new CountersignError("USAGE", `--register: got \`${text}\`, expected an https address without a path`, {
    remedy: "for example --register https://countersign.example.org",
  });
}

/** GitHub's page that takes a manifest. */
function formAction({ githubUrl, organization }: RegisterSettings): string {
  if (organization === null) return `${githubUrl}/settings/apps/new`;
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$/.test(organization)) {
    throw new CountersignError(
      "USAGE",
      `--organization: got \`${organization}\`, expected the name of an organization`,
      {
        remedy: "for example --organization octo-org",
      },
    );
  }
  return `${githubUrl}/organizations/${organization}/settings/apps/new`;
}

function registrationOf(app: RegisteredApp, { githubUrl, files }: RegisterSettings): Registration {
  const page = app.pageUrl.startsWith(`${githubUrl}/`) ? app.pageUrl : `${githubUrl}/apps/${app.slug}`;
  return {
    appId: app.appId,
    installUrl: `${page}/installations/new`,
    folder: files.folder,
    hasWebhookSecret: app.webhookSecret !== null,
  };
}
