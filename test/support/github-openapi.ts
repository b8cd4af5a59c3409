import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import type { LoggedRequest } from "../../src/demo/index.ts";

type Description = {
  readonly operations: Readonly<
    Record<string, { readonly request: object | null; readonly responses: Readonly<Record<string, object | null>> }>
  >;
};

/** Made by scripts/github-schemas.mjs from what GitHub publishes. */
const fixture = new URL("../fixtures/github-openapi.json", import.meta.url);
const description = JSON.parse(readFileSync(fixture, "utf8")) as Description;
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema(description, "github");

/** Operations that GitHub's description has, in the words of the log. */
export const describedOperations: ReadonlySet<string> = new Set(Object.keys(description.operations));

const compiled = new Map<string, ValidateFunction>();

function validator(pointer: string): ValidateFunction {
  const present = compiled.get(pointer);
  if (present !== undefined) return present;
  const made = ajv.compile({ $ref: `github#${pointer}` });
  compiled.set(pointer, made);
  return made;
}

const escaped = (key: string): string => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));

/**
 * What is against GitHub's published description in requests to the local GitHub and in its answers: one line each. Requests
 * that were refused with 400 or 422 may be of any shape; answers that a fault made up are not looked at.
 */
export const againstDescription = (requests: readonly LoggedRequest[]): readonly string[] =>
  requests.flatMap((request) => [...requestFaults(request), ...answerFaults(request)]);

function requestFaults(request: LoggedRequest): readonly string[] {
  const operation = description.operations[request.route];
  if (operation?.request === undefined || operation.request === null || request.requestBody === undefined) return [];
  if (request.status === 400 || request.status === 422) return [];
  const isValid = validator(`/operations/${escaped(request.route)}/request`);
  return isValid(request.requestBody) ? [] : [`${request.route} request: ${ajv.errorsText(isValid.errors)}`];
}

function answerFaults(request: LoggedRequest): readonly string[] {
  const operation = description.operations[request.route];
  const { status } = request;
  if (operation === undefined || status === null || request.fault === "answer") return [];
  if (status === 401 || status === 451) return []; // GitHub describes them for no operation
  const known = Object.keys(operation.responses).includes(String(status));
  const isGeneral = status === 403 || status === 307; // missing permissions and renames, described for some operations alone
  if (!known) return isGeneral ? [] : [`${request.route} has no answer ${status}`];
  if (operation.responses[String(status)] === null)
    return request.answerBody === undefined || status >= 300 ? [] : [`${request.route} ${status} has a body`];
  const isValid = validator(`/operations/${escaped(request.route)}/responses/${status}`);
  return isValid(request.answerBody) ? [] : [`${request.route} ${status}: ${ajv.errorsText(isValid.errors)}`];
}
