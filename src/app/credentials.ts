import { chmod, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CountersignError, type RandomBytes } from "../domain/index.ts";
import type { RegisteredApp } from "../github/index.ts";
import { makeHome } from "../store/index.ts";

/** Absolute paths; the files lie in the folder, the folder in `keys` of the service folder. */
export type CredentialFiles = {
  readonly folder: string;
  readonly appId: string;
  readonly privateKey: string;
  readonly webhookSecret: string;
};

/** Throws `ALREADY_REGISTERED` where there is anything at their place. */
export async function refuseSecondRegistration({ folder }: CredentialFiles): Promise<void> {
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  if (isThere) throw alreadyRegistered(folder);
}

const alreadyRegistered = (folder: string): CountersignError =>
  new CountersignError("ALREADY_REGISTERED", `\`${folder}\` holds the credentials of an App already`);

/**
 * Stores the credentials, 0600 in a folder 0700: all of them durably, or none. Throws `ALREADY_REGISTERED` rather than
 * overwrite any.
 */
export async function storeCredentials(
  deps: { readonly randomBytes: RandomBytes },
  files: CredentialFiles,
  app: RegisteredApp,
): Promise<void> {
  const keys = dirname(files.folder);
  await makeHome(dirname(keys));
  await mkdir(keys, { recursive: true, mode: 0o700 });
  const draft = `${files.folder}.${Buffer.from(deps.randomBytes(8)).toString("hex")}.new`;
  const write = (path: string, text: string): Promise<void> => writeDurably(path.replace(files.folder, draft), text);
  try {
    await mkdir(draft);
    await chmod(draft, 0o700);
    await write(files.appId, `${app.appId}\n`);
    await write(files.privateKey, app.privateKey.reveal());
    if (app.webhookSecret !== null) await write(files.webhookSecret, `${app.webhookSecret.reveal()}\n`);
    await rename(draft, files.folder); // fails where a folder with files has the name
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    throw code === "ENOTEMPTY" || code === "EEXIST" ? alreadyRegistered(files.folder) : error;
  }
  await syncFolder(keys);
}

async function writeDurably(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(text);
  await file.sync();
}

async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}
