/**
 * What test runners, builds and language runtimes read or run by themselves, beside what policy protects: whoever adds such a file decides
 * what "passed" means, whether a test was there before or not. By ecosystem. A pattern is tried on the file's
 * name and on its path from the root's `/` on, both in lower case.
 */
const steering: Readonly<Record<string, readonly RegExp[]>> = {
  node: [
    /^[^/]*setup\.[cm]?[jt]sx?$/, // setupFiles and globalSetup, by their usual names
    /^global[-_.]?(setup|teardown)[^/]*$|^setup[-_.]?(tests?|jest|vitest|env|files?|after[-_]?env)\.[cm]?[jt]sx?$/,
    /^(vitest|jest|vite|playwright|karma|cypress|ava|jasmine|wdio|nightwatch|protractor|web-test-runner|intern)\.[^/]+$/,
    /^\.(mocharc|nycrc|c8rc|taprc|labrc|jasmine|testem|pnp)[^/]*$|^mocha\.opts$/,
    /^\.env(\.(?!example|sample|template)[^/]*)?$/,
    /^(tsconfig[^/]*|jsconfig|testem|import[-_]?map)\.json$/,
    /\/(__mocks__|node_modules)\//,
  ],
  python: [
    /^(conftest|noxfile|setup|sitecustomize|usercustomize|pytest_plugins|toxfile|manage|runtests)\.py$/,
    /^\.?(pytest|tox|nose|nose2|unittest|nosetests)\.(ini|toml|cfg)$/,
    /^\.(coveragerc|noserc)$/,
    /\.(pth|pyc|egg-link)$/,
    /\/(\.venv|venv|site-packages|[^/]+\.(egg|dist)-info)\//,
    // run in place of the runner itself where the tests start in the root
    /^\/(_?pytest|pluggy|iniconfig|nose2?|tox|nox|coverage|hypothesis|xdist|pytest_[^/]*|setuptools|pkg_resources|packaging|pip)(\/.*)?\.(py|so)$/,
  ],
  go: [/^\/vendor\//, /^magefile\.go$/],
  jvm: [
    /\/meta-inf\/(services|maven|spring[^/]*)(\/|$)/,
    /^(junit-platform|testng|allure|cucumber|testcontainers|mockito|robolectric|kotest)\.(properties|xml|ya?ml)$/,
    /^(surefire|testng[^/]*|build|ivy)\.xml$/,
    /\/(mockito-extensions|buildsrc|gradle|\.gradle)\//,
    /\.(gradle|gradle\.kts|sbt|sc)$/,
    /^(spockconfig\.groovy|projectconfig\.kt|\.jvmopts|\.sbtopts|build\.properties|build\.mill)$/,
  ],
  ruby: [
    /^(test|spec|rails|minitest|cucumber|system)_helper\.rb$/,
    /^(\.rspec(-local)?|\.simplecov|\.rspec_status|\.minitest[^/]*|\.autotest|cucumber\.ya?ml|\.cucumber[^/]*|guardfile|\.rubyopt)$/,
    /\.rake$/,
    /\/minitest\/[^/]+_plugin\.rb$/, // loaded from wherever it lies on the load path
    /\/(spec|test)\/support\/.*\.rb$|\/features\/support\//,
    /\/(lib|test|spec)\/(minitest|rspec|test\/unit|bundler|rake)(\.rb$|\/)/,
  ],
  php: [
    /^(bootstrap|_bootstrap|autoload|pest)\.php$/,
    /^\.?(phpunit|codeception|[^/]*\.suite|phpspec|behat|infection|kahlan|peridot|atoum)[^/]*\.(xml|dist|ya?ml|json5?|php)$/,
    /^(\.user\.ini|php\.ini|\.atoum\.php)$/,
  ],
  rust: [/^(build\.rs|clippy\.toml)$/, /\/\.cargo\//, /^nextest\.toml$/],
  dotnet: [
    /\.(runsettings|testsettings|props|targets|rsp)$/,
    /^(global|xunit\.runner|testconfig|[^/]*\.runtimeconfig[^/]*)\.json$/,
  ],
  others: [
    /^(test_helper|test|runtests)\.(exs|jl)$/, // Elixir, Julia
    /^(flutter_test_config\.dart|dart_test\.ya?ml|pubspec\.ya?ml|package\.swift|build\.zig)$/,
    /^(\.proverc|makefile\.pl|build\.pl|dist\.ini)$/,
    /^(setup\.l?hs|cabal\.project[^/]*|package\.yaml|stack\.ya?ml|\.hspec)$/,
    /^(deps|tests|shadow-cljs|bb)\.edn$|^(project\.clj|build\.boot)$/,
    /^(\.busted|\.luacov|\.rprofile|\.renviron)$|\/testthat\/(setup|helper|teardown)[^/]*\.r$/,
    /^(ctest[^/]*\.cmake|meson\.build|meson_options\.txt|build\.bazel|build|workspace|module\.bazel|\.bazelrc|configure)$/,
    /\.(cmake|bzl|mk|m4|am)$/,
  ],
};

const steeringFiles = Object.values(steering).flat();

/** Hooks that stand in a file of tests, told by what is in it: Go's `TestMain` runs, or does not run, all tests of its package. */
const hooksInTests: readonly { readonly path: RegExp; readonly text: RegExp }[] = [
  { path: /_test\.go$/i, text: /\bfunc\s+(TestMain|init)\s*\(/ },
];

/** Whether a file steers a runner by its place and name, or by a hook in its text. */
export function steersRunner(path: string, content: Uint8Array | null): boolean {
  const folded = path.toLowerCase();
  const name = folded.slice(folded.lastIndexOf("/") + 1);
  if (steeringFiles.some((pattern) => pattern.test(name) || pattern.test(`/${folded}`))) return true;
  const hook = hooksInTests.find((one) => one.path.test(path));
  return hook !== undefined && content !== null && hook.text.test(Buffer.from(content).toString("utf8"));
}
