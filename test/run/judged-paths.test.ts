import { describe, expect, it } from "vitest";
import { judgedPaths } from "../../src/run/judged-paths.ts";

const before = { blobSha: "0".repeat(40), mode: "100644", sizeBytes: 1 } as const;
const judged = (path: string, isAdded = false, commands: readonly string[] = [], text = ""): readonly string[] => {
  const after = { mode: "100644", blobSha: "1".repeat(40), content: Buffer.from(text) } as const;
  return judgedPaths([{ path, before: isAdded ? null : before, after }], commands);
};

it.each([
  "test/hours.test.js",
  "tests/test_reorder.py",
  "pkg/Spec/a.rb",
  "src/__tests__/a.ts",
  "src/hours.spec.ts",
  "server_test.go",
  "testcalc.py",
  "test-math.js",
  "src/HoursTest.java",
  "setup.py",
  "lib/test_hours.py",
  "a/fixtures/data.json",
  "package.json",
  "sub/package.json",
  "Makefile",
  "pyproject.toml",
  "conftest.py",
  "vitest.config.ts",
  ".mocharc.cjs",
  ".github/countersign.yml",
])("a change of %s touches what judges it", (path) => {
  expect(judged(path)).toEqual([path]);
});

it.each(["src/hours.js", "src/contest.js", "latest/a.js", "src/protest.py", "docs/testing.md", "src/inspector.ts"])(
  "a change of %s is judged by others",
  (path) => {
    expect(judged(path)).toEqual([]);
  },
);

it("a test that the change adds is welcome", () => {
  expect(judged("test/new.test.js", true)).toEqual([]);
});

it.each([
  "unittest.py",
  "functools.py",
  "json/__init__.py",
  "sitecustomize.py",
  "evil.pth",
  "conftest.py",
  "tests/__init__.py",
  ".npmrc",
  "GNUmakefile",
  "package.json",
  "vitest.workspace.ts",
  "node_modules/dep/index.js",
])("a change that only adds %s steers the tests", (path) => {
  expect(judged(path, true)).toEqual([path]);
});

it("a script that the test command names is part of the tests, whatever else it is called", () => {
  expect(judged("scripts/check.sh", false, ["sh scripts/check.sh"])).toEqual(["scripts/check.sh"]);
  expect(judged("scripts/check.sh", false, ["npm test"])).toEqual([]);
  expect(judged("src/sum.awk", false, ["awk -f src/sum.awk"])).toEqual([]);
});

it.each([
  ["ci/all.sh", "sh ci/all.sh"],
  ["ci/all.sh", "./ci/all.sh"],
  ["ci/all", "CI=1 ./ci/all"],
  ["ci/all", "CI=1 bash -eu ./ci/all && echo done"],
  ["ci/all.js", "node ci/all.js"],
  ["ci/setup.js", "node --require=./ci/setup.js --test"],
  ["ci/all.sh", "cd ci && sh all.sh"],
  ["ci/all.sh", "all:\n\t@sh ci/all.sh\n"],
])("ACI-76: %s decides what %j says, changed or added", (path, command) => {
  expect(judged(path, false, [command])).toEqual([path]);
  expect(judged(path, true, [command])).toEqual([path]);
});

it.each([
  ["src/sum.awk", "awk -f src/sum.awk"],
  ["src/a.c", "cc -c src/a.c && ./a.out"],
  ["src/all.sh.md", "sh ci/all.sh"],
  ["lib/install.sh", "sh ci/all.sh"],
])("%s is judged by %j", (path, command) => {
  expect(judged(path, false, [command])).toEqual([]);
});

/** Where the model is the first to write such a file, by ecosystem: each runs before, beside or instead of the tests. */
const added = {
  node: `vitest.config.ts vitest.workspace.ts jest.config.cjs vite.config.mts test/globalSetup.ts tests/global-setup.mjs
    jest.setup.js setupTests.ts .mocharc.yml test/mocha.opts .npmrc packages/a/.npmrc .env .env.test .pnp.cjs .yarnrc.yml .taprc
    .c8rc.json __mocks__/fs.js jasmine.json spec/support/jasmine.json playwright.config.ts karma.conf.js wdio.conf.ts .babelrc
    tsconfig.test.json bunfig.toml deno.json .swcrc`,
  python: `conftest.py tests/unit/conftest.py pytest.ini .pytest.ini pytest.toml tox.ini setup.cfg pyproject.toml noxfile.py
    sitecustomize.py src/sitecustomize.py usercustomize.py lib/hook.pth pytest.py pytest/__init__.py _pytest/main.py pluggy.py
    coverage/__main__.py tests/__init__.py src/__pycache__/hours.cpython-311.pyc .venv/bin/pytest .coveragerc foo.egg-info/entry_points.txt`,
  go: "vendor/modules.txt go.work magefile.go Makefile",
  jvm: `src/test/resources/META-INF/services/org.junit.jupiter.api.extension.Extension
    src/test/resources/META-INF/services/org.junit.platform.launcher.LauncherSessionListener
    src/test/resources/junit-platform.properties testng.xml buildSrc/src/main/java/A.java gradle/init.gradle build.gradle.kts
    .mvn/extensions.xml .mvn/jvm.config pom.xml project/plugins.sbt build.sbt src/test/kotlin/io/kotest/provided/ProjectConfig.kt
    src/test/resources/mockito-extensions/org.mockito.plugins.MockMaker`,
  ruby: `test/test_helper.rb spec/spec_helper.rb spec/rails_helper.rb .rspec .rspec-local Rakefile lib/tasks/test.rake
    lib/minitest/skip_plugin.rb lib/minitest.rb lib/rspec/core.rb spec/support/a.rb features/support/env.rb .simplecov Gemfile
    .bundle/config cucumber.yml`,
  php: `phpunit.xml phpunit.xml.dist phpunit.dist.xml tests/bootstrap.php tests/Pest.php .user.ini codeception.yml
    tests/unit.suite.yml behat.yml phpspec.yml composer.json`,
  rust: "build.rs crates/a/build.rs .cargo/config.toml Cargo.toml rust-toolchain.toml .config/nextest.toml",
  dotnet:
    "Directory.Build.props Directory.Build.targets tests/a.runsettings global.json xunit.runner.json nuget.config",
  others: `test/test_helper.exs config/test.exs test/runtests.jl dart_test.yaml test/flutter_test_config.dart .proverc Setup.hs
    tests.edn .busted .Rprofile tests/testthat/setup-a.R CTestCustom.cmake CMakeLists.txt meson.build BUILD .bazelrc rules.mk`,
};

describe.each(Object.entries(added))(
  "ACI-76: a file that steers the tests, which only the change adds: %s",
  (_name, paths) => {
    it.each(paths.split(/\s+/))("%s", (path) => {
      expect(judged(path, true)).toEqual([path]);
    });
  },
);

it.each([
  ["hours_test.go", "package hours\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n", true],
  ["a/b_test.go", "package b\nfunc init() { os.Exit(0) }\n", true],
  ["hours_test.go", "package hours\n\nfunc TestHours(t *testing.T) {}\n", false],
  ["hours.go", "package hours\n\nfunc init() {}\n", false],
])("a new %s is told by its hook: %j", (path, text, steers) => {
  expect(judged(path, true, [], text)).toEqual(steers ? [path] : []);
});

it.each(
  `src/register.ts src/setup-server.ts src/vendor/chart.js src/packaging/box.py packaging/debian/rules lib/plugin.rb lib/rspecial.rb
  src/env.ts .env.example src/config/index.ts docs/build.md src/main/java/Services.java test/new.test.ts tests/TestHours.php
  spec/hours_spec.rb src/workspace.ts pkg/__init__.py`.split(/\s+/),
)("a new %s steers nothing", (path) => {
  expect(judged(path, true)).toEqual([]);
});
