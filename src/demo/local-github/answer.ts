import type { JsonObject, JsonValue } from "../../domain/index.ts";

export type Answer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent: no body. */
  readonly body?: JsonValue;
};

/** GitHub's limit for the text of an issue, a pull request or a comment, in characters. */
const bodyLimit = 65_536;

/** A request that GitHub refuses: thrown by any part of a handler, answered as JSON by the router. */
export class Refusal extends Error {
  readonly answer: Answer;
  constructor(answer: Answer, options?: ErrorOptions) {
    super(`refused with ${answer.status}`, options);
    this.answer = answer;
  }
}

const documentationUrl = "https://docs.github.com/rest";

export function refused(status: number, message: string, more: JsonObject = {}): Refusal {
  return new Refusal({
    status,
    body: { message, ...more, documentation_url: documentationUrl, status: String(status) },
  });
}

export type FieldError = {
  readonly resource: string;
  readonly code: string;
  readonly field?: string;
  readonly message?: string;
};

/** 422 with the errors that GitHub lists for fields. */
export const invalid = (...errors: readonly FieldError[]): Refusal =>
  refused(422, "Validation Failed", { errors: errors.map((error) => ({ ...error })) });

/** The thing has another address now. A request that changes something must be sent there as it is. */
export const movedTo = (location: string, status: 301 | 307 = 301): Refusal =>
  new Refusal({
    status,
    headers: { Location: location },
    body: { message: "Moved Permanently", url: location, documentation_url: documentationUrl },
  });

export const notFound = (): Refusal => refused(404, "Not Found");

export const ok = (body: JsonValue): Answer => ({ status: 200, body });
export const created = (body: JsonValue): Answer => ({ status: 201, body });
export const noContent: Answer = { status: 204 };

/** Refuses a text over GitHub's 65,536 characters. */
export function checkLength(resource: string, text: string | null | undefined, field = "body"): void {
  if (text !== null && text !== undefined && [...text].length > bodyLimit)
    throw invalid({
      resource,
      code: "custom",
      field,
      message: `${field} is too long (maximum is ${bodyLimit} characters)`,
    });
}

/** The refusal as a value; anything else is thrown on. */
export function orRefusal<Value>(act: () => Value): Value | Refusal {
  try {
    return act();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
