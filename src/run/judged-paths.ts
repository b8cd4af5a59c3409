/** What a change must not touch if the tests are to prove it: test files, and what steers their runner (ACI-76). */
const testFile =
  /(^|\/)(tests?|__tests__|specs?|testdata|fixtures|__snapshots__)\/|(^|[/._-])(test|tests|spec)\.[^/]+$|(^|\/)test_[^/]*\.py$|_test\.[^/]+$|\.(test|spec)\.[^/]+$/i;
const runnerSetting =
  /(^|\/)(package\.json|makefile|gnumakefile|conftest\.py|pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|noxfile\.py|\.mocharc[^/]*|(vitest|jest|vite|playwright|karma|cypress|ava)\.config\.[^/]+|\.github\/.*|\.gitlab-ci\.yml)$/i;

/** Paths of the base that judge the change and that the change touches; files it adds are not among them. */
export function judgedPaths(
  changed: readonly { readonly path: string; readonly before: unknown }[],
): readonly string[] {
  return changed
    .filter(({ path, before }) => before !== null && (testFile.test(path) || runnerSetting.test(path)))
    .map(({ path }) => path);
}
