/** Some of the attacks of the design (security.md, section 13) that are tested together. */
export type Attacks = {
  readonly numbers: readonly number[];
  readonly what: string;
  /** Where, below test/ and without `.test.ts`. */
  readonly files: readonly string[];
  readonly asUser: AsUser;
};

/** What a run of the tests by root does for the same attacks on a service of an ordinary user. */
export type AsUser =
  /** Runs these files once more as one: their outcome involves a sandbox, a checkout, files or processes. */
  | { readonly kind: "again"; readonly files: readonly string[] }
  /** Nothing, since whom the service runs as has no part in the outcome. */
  | { readonly kind: "same"; readonly why: string };

const again = (...files: readonly string[]): AsUser => ({ kind: "again", files });
const same = (why: string): AsUser => ({ kind: "same", why });

const ofTheSandbox = ["network", "host-data", "kernel", "guard", "in-a-run"].map((name) => `attack/${name}`);
/** bubblewrap is never root's, so that its flags, each taken away, do the same under a run uid. */
const ofItsFlags = ["attack/barriers", "attack/hijacked"];
const ofTrees = ["workspace/hostile-trees", "attack/refused-trees"];

/** Where each attack is tested and as whom. docs/threat-model.md shows the same table. */
export const attacks: readonly Attacks[] = [
  {
    numbers: [1, 2, 3, 5],
    what: "forged, unsigned and oversized deliveries",
    files: ["intake/server", "intake/read-body"],
    asUser: same("bytes of a socket, refused before anything is stored"),
  },
  {
    numbers: [4, 6, 7, 8, 10],
    what: "who may trigger",
    files: ["intake/accept-delivery"],
    asUser: same("rows of the database and answers of GitHub"),
  },
  {
    numbers: [9, 12, 13, 14, 15],
    what: "what the model is told",
    files: ["flows/prompt-attacks", "agent/untrusted-text", "agent/take-turn", "gateway/hidden-code-points"],
    asUser: same("texts, and decisions about them"),
  },
  {
    numbers: [11],
    what: "stop before the pull request",
    files: ["flows/github-ends", "flows/stop-events", "intake/stop"],
    asUser: same("events, and rows of the database"),
  },
  {
    numbers: [16, 20],
    what: "arguments, changed arguments",
    files: ["gateway/parse", "gateway/perform"],
    asUser: same("parsing and digests"),
  },
  {
    numbers: [17],
    what: "paths",
    files: ["gateway/hostile-paths", "workspace/hostile-trees"],
    asUser: again("workspace/hostile-trees"),
  },
  {
    numbers: [18],
    what: "protected files",
    files: ["gateway/hostile-paths", "flows/commit-gate"],
    asUser: same("names of a change set, judged in memory"),
  },
  {
    numbers: [19],
    what: "settings and policies edited by the model",
    files: ["attack/own-settings"],
    asUser: again("attack/own-settings"),
  },
  {
    numbers: [21],
    what: "endless model",
    files: ["flows/endless-model", "agent/loop", "agent/openai-model"],
    asUser: same("counted in the service's own process"),
  },
  {
    numbers: [22, 23, 25],
    what: "network, host data, kernel",
    files: [...ofTheSandbox, ...ofItsFlags],
    asUser: again(...ofTheSandbox),
  },
  {
    numbers: [24],
    what: "limits",
    files: ["workspace/limits"],
    asUser: again("workspace/limits-as-user"),
  },
  {
    numbers: [26, 27],
    what: "setup's network and scripts",
    files: ["attack/setup-network"],
    asUser: again("attack/setup-network"),
  },
  { numbers: [28, 29, 30, 31], what: "hostile trees", files: ofTrees, asUser: again(...ofTrees) },
  {
    numbers: [32],
    what: "base and branch changed by others",
    files: ["flows/github-ends", "github/push-commit"],
    asUser: same("requests to GitHub and its answers"),
  },
  {
    numbers: [33],
    what: "secrets in what would be published",
    files: ["flows/redaction", "gateway/commit-gate"],
    asUser: same("a scan of bytes in memory"),
  },
  {
    numbers: [34, 35, 36],
    what: "what is written to GitHub",
    files: ["flows/hostile-words", "github/text", "run/on-github/texts", "run/conclude"],
    asUser: same("texts, made of facts on record"),
  },
  { numbers: [37], what: "pages", files: ["web/pages"], asUser: same("answers on a port, made of records") },
];

/** What a run of the tests by root runs once more as an ordinary user (vitest.config.ts). */
export const filesAsUser: readonly string[] = [
  ...new Set(attacks.flatMap(({ asUser }) => (asUser.kind === "again" ? asUser.files : []))),
].map((file) => `test/${file}.test.ts`);
