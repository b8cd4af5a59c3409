import { CountersignError } from "../domain/index.ts";
import type { RepositoryName } from "./facts.ts";

const nameForm = /^[A-Za-z0-9_.-]{1,100}$/;

/** Whether GitHub could have given such a name: nothing in it leads to another path. */
export const isRepositoryName = ({ owner, name }: RepositoryName): boolean =>
  [owner, name].every((part) => nameForm.test(part) && !/^\.+$/.test(part));

/**
 * The repository that an address on this GitHub leads to: `<gitUrl>/<owner>/<name>`, with or without `.git`. Throws `USAGE`
 * for a folder, another host, and all that is more than such an address.
 */
export function readRepositoryAddress(typed: string, gitUrl: string): RepositoryName {
  const remedy = `name the repository as \`${gitUrl}/<owner>/<name>\``;
  const refuse = (cause: string): never => {
    throw new CountersignError("USAGE", cause, { remedy });
  };
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(typed) ? URL.parse(typed) : null;
  if (url === null)
    return refuse("a pull request needs the repository's address: what is in a folder may not be on GitHub");
  if (url.username !== "" || url.password !== "") return refuse("the address was given with a password");
  if (url.origin !== new URL(gitUrl).origin) return refuse(`\`${url.origin}\` is not the GitHub of this configuration`);
  const [, owner = "", name = ""] = /^\/([^/]+)\/([^/]+?)(?:\.git)?\/?$/.exec(url.pathname) ?? [];
  const found = { owner, name };
  if (!isRepositoryName(found) || url.search !== "" || url.hash !== "")
    return refuse(`\`${url.origin}${url.pathname}\` is no address of a repository`);
  return found;
}
