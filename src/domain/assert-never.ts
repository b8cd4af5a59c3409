/** Ends a `switch` over a closed union: does not compile while a case is missing, and is a bug where it is reached. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value \`${JSON.stringify(value)}\` in a closed union`);
}
