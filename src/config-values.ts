import { CountersignError } from "./domain/index.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of a variable; an empty one counts as unset. */
export const readVariable = (environment: Environment, name: string): string | null => environment[name] || null;

/** One line for a value that can't be used: variable, what was got, what is expected, an example. */
export function unusable(variable: string, got: string, expected: string, example: string): CountersignError {
  return new CountersignError("CONFIG_INVALID", `${variable}: got ${got}, expected ${expected}`, {
    remedy: `for example ${variable}=${example}`,
    details: { variable },
  });
}
