import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";

const checkout = resolve(import.meta.dirname, "..");

/** Public package registries, in pieces, since this file is searched too. */
const registries = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["npm", "pkg", "github", "com"],
  ["pypi", "org"],
  ["files", "pythonhosted", "org"],
  ["static", "crates", "io"],
  ["index", "crates", "io"],
  ["proxy", "golang", "org"],
  ["rubygems", "org"],
  ["repo", "maven", "apache", "org"],
  ["packagist", "org"],
].map((parts) => parts.join("."));

it("names no registry's host in any file of the repository but the lock file (SEC-68)", () => {
  const listed = execFileSync("git", ["-C", checkout, "ls-files", "-z"], { encoding: "utf8" });
  const files = listed.split("\0").filter((file) => file !== "" && file !== "package-lock.json");

  const found = files.filter((file) => {
    const text = readFileSync(resolve(checkout, file), "latin1");
    return registries.some((host) => text.includes(host));
  });

  expect(files.length).toBeGreaterThan(300);
  expect(found).toEqual([]);
});
