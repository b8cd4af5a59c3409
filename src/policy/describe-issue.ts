import type { z } from "zod";

/** One issue of a strict schema in one line: the key, what was got, what is expected. */
export type DescribedIssue = { readonly path: readonly PropertyKey[]; readonly text: string };

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int"
        ? "a whole number"
        : `${/^[aeio]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
    case "too_small":
      return `at least ${issue.minimum}`;
    case "too_big":
      return `at most ${issue.maximum}`;
    case "invalid_value":
      return issue.values.map((value) => `\`${String(value)}\``).join(" or ");
    default:
      return issue.message;
  }
}

/** Unknown keys get the place of the key itself. The input must have been reported (`reportInput`). */
export function describeIssue(issue: z.core.$ZodIssue): DescribedIssue {
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0] ?? "";
    const place = [...issue.path, key];
    return { path: place, text: `unknown key \`${place.join(".")}\`` };
  }
  if (issue.code === "invalid_key") {
    return {
      path: issue.path,
      text: `bad key \`${issue.path.join(".")}\`, expected ${issue.issues[0]?.message ?? "another"}`,
    };
  }
  const key = issue.path.length === 0 ? "the file" : `\`${issue.path.join(".")}\``;
  return { path: issue.path, text: `${key} is ${shown(issue.input)}, expected ${expectation(issue)}` };
}
