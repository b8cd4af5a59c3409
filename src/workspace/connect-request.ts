import { isIP } from "node:net";
import { endsInNumber, isHostName } from "../domain/index.ts";

/** Why a request was not led on. What is behind it is one of ours alone, so that a record holds no text of the asker's. */
export type RequestRefusal = "malformed" | "not_connect" | "not_port_443" | "ip_literal";

/** The head of a request to the proxy. `host` is lower-case and no longer than a name can be; null where none could be read. */
export type ConnectRequest =
  | { readonly kind: "connect"; readonly host: string }
  | { readonly kind: "refused"; readonly host: string | null; readonly cause: RequestRefusal };

const refused = (cause: RequestRefusal, host: string | null = null): ConnectRequest => ({
  kind: "refused",
  host,
  cause,
});

/** RFC 9110 section 5.6.2 and RFC 9112 section 5, without line folding: what is not this is not guessed at. */
const field = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e]*$/;
/**
 * Reads the head of a request, up to and without its empty line, as latin1 text. Pure. Accepts `CONNECT host:443 HTTP/1.1`
 * (RFC 9110 section 9.3.6) and nothing near it; the fields below it must be well-formed and say nothing.
 */
export function readConnectRequest(head: string): ConnectRequest {
  const [requestLine = "", ...fields] = head.split("\r\n");
  const [, method = "", target = ""] = /^([A-Z]+) ([\x21-\x7e]+) HTTP\/1\.[01]$/.exec(requestLine) ?? [];
  if (method === "" || !fields.every((line) => field.test(line))) return refused("malformed");
  if (method !== "CONNECT") return refused("not_connect", hostOfUrl(target));
  const [, host = "", port = ""] = /^(\[[^\]]*\]|[^:[\]]+):(\d{1,5})$/.exec(target.toLowerCase()) ?? [];
  if (isLiteral(host)) return refused("ip_literal", /^[a-z0-9.:[\]-]{1,64}$/.test(host) ? host : null);
  if (!isHostName(host)) return refused("malformed");
  return port === "443" ? { kind: "connect", host } : refused("not_port_443", host);
}

const isLiteral = (host: string): boolean => host.startsWith("[") || isIP(host) !== 0 || endsInNumber(host);

/** For the record of plain HTTP, which names its host in an absolute address (RFC 9112 section 3.2.2). */
function hostOfUrl(target: string): string | null {
  const name = URL.parse(target)?.hostname ?? "";
  return isHostName(name) ? name : null;
}
