import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isHostName } from "../domain/index.ts";
import { findProgram } from "./find-program.ts";
import { emptyFolder } from "./git.ts";
import type { WorkspaceDeps } from "./host.ts";
import { packageFolder } from "./prepare-tools.ts";

/** What the package managers of this machine say about where packages come from. */
export type Registries = {
  /** Host names alone: what else the configuration holds, its credentials first, stays outside (SEC-69). */
  readonly hosts: readonly string[];
  /** By what the same managers inside find them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Certificates that this machine trusts for them beyond the usual ones, as PEM; empty where there are none. */
  readonly certificates: string;
  /** A line for each registry or file that can't be used, and why. */
  readonly unusable: readonly string[];
};

type Environment = Readonly<Record<string, string | undefined>>;

/** What one manager reports. */
type Report = { readonly registry: string | null; readonly certificateFiles: readonly string[] };

const answerWithinMs = 30_000;

/**
 * Asks npm and pip for their own effective configuration, in an empty folder and never in a repository (SEC-68). `environment`:
 * what they get of the service's own. A manager that is not there, or reports no registry, adds no host.
 */
export async function readRegistries(
  deps: Pick<WorkspaceDeps, "home" | "searchPath">,
  environment: Environment,
  signal: AbortSignal,
): Promise<Registries> {
  const folder = await emptyFolder(deps);
  const env = { ...environment, ...quiet, HOME: environment["HOME"] ?? homeOr(folder), PATH: deps.searchPath };
  const ask = (program: string, argv: readonly string[]) => answerOf(program, argv, { cwd: folder, env, signal });
  const [npm, pip] = await Promise.all([askNpm(ask, folder), askPip(ask, deps.searchPath)]);
  const found = [
    npm.registry === null ? { environment: {}, unusable: silentNpm } : read("npm", npm.registry, "npm_config_registry"),
    pip.registry === null ? { environment: {} } : read("pip", pip.registry, "PIP_INDEX_URL"),
  ];
  const files = [environment["NODE_EXTRA_CA_CERTS"] ?? "", ...npm.certificateFiles].filter((file) => file !== "");
  const certificates = await Promise.all([...new Set(files)].map(readCertificates));
  return {
    hosts: [...new Set(found.flatMap(({ host }) => host ?? []))],
    environment: Object.assign({}, ...found.map((one) => one.environment)),
    certificates: certificates.map(({ text }) => text).join(""),
    unusable: [...found, ...certificates].flatMap(({ unusable }) => unusable ?? []),
  };
}

/** npm writes logs and asks for its own newest version, unless told otherwise. */
const quiet: Environment = { npm_config_logs_max: "0", npm_config_update_notifier: "false" };

/** As npm itself finds it; it fails where a user has no entry in /etc/passwd, as in many containers: there is no configuration then. */
function homeOr(folder: string): string {
  try {
    return userInfo().homedir;
  } catch {
    return folder;
  }
}

/** npm has a registry of its own where none is configured, so that silence means that it would not say. */
const silentNpm = "npm does not tell its registry (it never does where the address holds a password)";

type Ask = (program: string, argv: readonly string[]) => Promise<string>;

/** Empty where the program fails: a manager that can't be asked reports nothing. */
async function answerOf(
  program: string,
  argv: readonly string[],
  options: { readonly cwd: string; readonly env: Environment; readonly signal: AbortSignal },
): Promise<string> {
  options.signal.throwIfAborted();
  try {
    return (await promisify(execFile)(program, argv, { ...options, timeout: answerWithinMs })).stdout;
  } catch {
    options.signal.throwIfAborted();
    return "";
  }
}

/** `--prefix` keeps it from looking for a project in the folders above. */
async function askNpm(ask: Ask, folder: string): Promise<Report> {
  const program = join(packageFolder("npm"), "bin", "npm-cli.js");
  const text = await ask(process.execPath, [program, "config", "get", "registry", "cafile", "--prefix", folder]);
  const value = (key: string): string | null => {
    const line = text.split("\n").find((one) => one.startsWith(`${key}=`));
    const found = line?.slice(key.length + 1).trim() ?? "";
    return ["", "null", "undefined"].includes(found) ? null : found;
  };
  const certificateFile = value("cafile");
  return { registry: value("registry"), certificateFiles: certificateFile === null ? [] : [certificateFile] };
}

/** A variable stands before the files, as in pip itself. The index that pip has built in is not reported, and so not used. */
async function askPip(ask: Ask, searchPath: string): Promise<Report> {
  const program = findProgram(searchPath, "pip3");
  const text = program === null ? "" : await ask(program, ["config", "list"]);
  const value = (section: string): string | undefined =>
    new RegExp(`^${section}\\.index-url='(.*)'$`, "m").exec(text)?.[1];
  return { registry: value(":env:") ?? value("install") ?? value("global") ?? null, certificateFiles: [] };
}

type Found = { readonly host?: string; readonly environment: Environment; readonly unusable?: string };

/** The address without user name, password, query and fragment; the path tells one registry of a host from another. */
function read(manager: string, registry: string, variable: string): Found {
  const url = URL.parse(registry);
  if (url?.protocol !== "https:" || url.port !== "") {
    return { environment: {}, unusable: `${manager}'s registry is not reached by https on port 443` };
  }
  const host = url.hostname.toLowerCase();
  if (!isHostName(host)) return { environment: {}, unusable: `${manager}'s registry is not named by a host name` };
  return { host, environment: { [variable]: `https://${host}${url.pathname}` } };
}

/** The certificates of a file and nothing else that lies in it, a key for example. */
async function readCertificates(file: string): Promise<{ readonly text: string; readonly unusable?: string }> {
  const text = await readFile(file, "latin1").catch(() => null);
  if (text === null) return { text: "", unusable: "a file of certificates that is configured can't be read" };
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g) ?? [];
  return { text: blocks.map((block) => `${block}\n`).join("") };
}
