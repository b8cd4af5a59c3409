/**
 * The function that `load` brings, brought when it is first called: what it is made of costs nothing before. A start of the
 * program then loads the rooms of the command that is meant, and no others.
 */
export function late<Given extends readonly unknown[], Answer>(
  load: () => Promise<(...given: Given) => Answer | Promise<Answer>>,
): (...given: Given) => Promise<Answer> {
  return async (...given) => (await load())(...given);
}
