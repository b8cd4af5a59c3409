// Looks for what npm can't bring, before the demo and the tests: installs it where the user may, else says what to type.
// `--tests` also asks for what only the tests need.
import { spawnSync } from "child_process";
import { requirePinnedNode, requirePlatform, stop } from "./platform.mjs";

const needs = [
  { program: "git", package: "git", atLeast: [2, 30, 0] },
  { program: "bwrap", package: "bubblewrap", atLeast: [0, 8, 0] },
  { program: "prlimit", package: "util-linux" },
].concat(
  process.argv.includes("--tests")
    ? [
        { program: "python3", package: "python3" },
        { program: "make", package: "make" },
      ]
    : [],
);

/** What is wrong with a program, or null. */
function lack(need) {
  const answer = spawnSync(need.program, ["--version"], { encoding: "utf8" });
  if (answer.error || answer.status !== 0) return "not found";
  if (!need.atLeast) return null;
  const found = (/(\d+)\.(\d+)(?:\.(\d+))?/.exec(answer.stdout) || []).slice(1).map((part) => Number(part || 0));
  const firstDifference = need.atLeast.findIndex((part, place) => part !== found[place]);
  if (firstDifference < 0 || found[firstDifference] > need.atLeast[firstDifference]) return null;
  return `found ${found.join(".")}`;
}

function lacking() {
  return needs.map((need) => ({ need, why: lack(need) })).filter(({ why }) => why !== null);
}

/** The prefix with which packages can be installed without asking anybody, or null. */
function installer() {
  if (spawnSync("apt-get", ["--version"]).error) return null;
  if (process.getuid() === 0) return [];
  return spawnSync("sudo", ["-n", "true"]).status === 0 ? ["sudo", "-n"] : null;
}

function install(packages, prefix) {
  process.stderr.write(`countersign: installing ${packages.join(", ")}\n`);
  const apt = prefix.concat(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]);
  for (const step of [["update"], ["install", "-y", "--no-install-recommends"].concat(packages)]) {
    const command = apt.concat(step);
    spawnSync(command[0], command.slice(1), { stdio: ["ignore", "ignore", "inherit"] });
  }
}

requirePlatform();
requirePinnedNode();
let missing = lacking();
if (missing.length > 0) {
  const prefix = installer();
  if (prefix !== null) {
    install(
      missing.map(({ need }) => need.package),
      prefix,
    );
    missing = lacking();
  }
}
if (missing.length > 0) {
  const wants = missing.map(({ need, why }) => {
    const version = need.atLeast ? ` ${need.atLeast.join(".")} or newer` : "";
    return `${need.program + version} (${why})`;
  });
  stop(`needs ${wants.join(", ")}; type: sudo apt-get install ${missing.map(({ need }) => need.package).join(" ")}`);
}
