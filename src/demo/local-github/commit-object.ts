export type Person = { readonly name: string; readonly email: string; readonly date: string };

export type CommitDraft = {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Person;
  readonly committer: Person;
  readonly message: string;
  /** Commits that name no author are signed by GitHub itself. */
  readonly isSigned: boolean;
};

export type ParsedCommit = Omit<CommitDraft, "isSigned"> & {
  readonly sha: string;
  readonly signature: string | null;
  /** What the signature is over. */
  readonly payload: string;
};

/**
 * Stands for GitHub's signature: nobody can check it, but as with the real one it is part of the object, so that a client
 * can't compute the commit's SHA beforehand.
 */
const signature = ["-----BEGIN PGP SIGNATURE-----", "", "bG9jYWwtZ2l0aHVi", "-----END PGP SIGNATURE-----"].join("\n");

const stamp = (person: Person): string =>
  `${cleaned(person.name)} <${cleaned(person.email)}> ${Math.floor(Date.parse(person.date) / 1000)} +0000`;
const cleaned = (text: string): string => text.replaceAll(/[<>\n\0]/g, "");

/** The bytes of a commit object (gitformat: header lines, an empty line, the message as it was given). */
export function writeCommit(draft: CommitDraft): string {
  const head = [
    `tree ${draft.tree}`,
    ...draft.parents.map((parent) => `parent ${parent}`),
    `author ${stamp(draft.author)}`,
    `committer ${stamp(draft.committer)}`,
    ...(draft.isSigned ? [`gpgsig ${signature.replaceAll("\n", "\n ")}`] : []),
  ];
  return `${head.join("\n")}\n\n${draft.message}`;
}

export function parseCommit(sha: string, bytes: Buffer): ParsedCommit {
  const text = bytes.toString("utf8");
  const end = text.indexOf("\n\n");
  const message = end < 0 ? "" : text.slice(end + 2);
  const lines = text
    .slice(0, end < 0 ? text.length : end)
    .replaceAll("\n ", "\u0001")
    .split("\n");
  const all = (name: string): readonly string[] =>
    lines
      .filter((line) => line.startsWith(`${name} `))
      .map((line) => line.slice(name.length + 1).replaceAll("\u0001", "\n"));
  const unsigned = lines.filter((line) => !line.startsWith("gpgsig ")).join("\n");
  return {
    sha,
    tree: all("tree")[0] ?? "",
    parents: all("parent"),
    author: readPerson(all("author")[0] ?? ""),
    committer: readPerson(all("committer")[0] ?? ""),
    message: message.replace(/\n$/, ""),
    signature: all("gpgsig")[0] ?? null,
    payload: `${unsigned}\n\n${message}`,
  };
}

function readPerson(line: string): Person {
  const match = /^(?<name>.*?) ?<(?<email>[^>]*)> (?<seconds>\d+)/.exec(line);
  const seconds = Number(match?.groups?.["seconds"] ?? 0);
  return {
    name: match?.groups?.["name"] ?? "",
    email: match?.groups?.["email"] ?? "",
    date: `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`,
  };
}
