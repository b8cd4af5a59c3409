import { isSecretName, mapTexts, type Redactor, redactedMark } from "../../domain/index.ts";
import type { OutgoingSpan } from "./otlp.ts";

/**
 * A span without secrets in its name, attributes, status and resource (SEC-100), those of attributes with a secret's name
 * included (SEC-101): an operator may set any on the resource. Ids and times stay.
 */
export function redactedSpan({ redact }: Pick<Redactor, "redact">, { span, resource }: OutgoingSpan): OutgoingSpan {
  const { name, attributes, errorCode } = mapTexts(
    { name: span.name, attributes: span.attributes, errorCode: span.errorCode },
    redact,
  );
  return {
    span: { ...span, name, errorCode, attributes: byName(attributes) },
    resource: byName(mapTexts(resource, redact)),
  };
}

/** A number, such as a count of tokens, is no secret. */
const byName = <Value>(fields: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === "string" && isSecretName(name) ? (redactedMark as Value) : value,
    ]),
  );
