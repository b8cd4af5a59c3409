import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import { cutRedacted, type Redact, visibleText } from "../domain/index.ts";
import type { AuditEvent } from "../ledger/index.ts";

/** A piece of a page: whatever was put into it is escaped. */
export type Html = ReturnType<typeof html>;

const style = `
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1c2024; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .8rem .3rem 0; vertical-align: top; }
tr { border-bottom: 1px solid #dfe3e8; } dt { font-weight: 600; } dd { margin: 0 0 .6rem; }
pre { background: #f4f6f8; padding: .8rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: 13px; } .sides { display: grid; grid-template-columns: repeat(3, 1fr); gap: 1rem; }
@media (max-width: 50rem) { .sides { grid-template-columns: 1fr; } }
@media (prefers-color-scheme: dark) { body { background: #15181b; color: #e6e9ec; } pre { background: #20252a; } a { color: #7ab8ff; } }
`;
const styleDigest = createHash("sha256").update(style).digest("base64");

/** On every answer, whatever it is. Nothing may be loaded, framed or sent from a page; the one style is named by its digest. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": `default-src 'none'; style-src 'sha256-${styleDigest}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

/** A whole page. */
export function page(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Countersign</title><style>${raw(style)}</style></head>
<body><nav><a href="/runs">all runs</a></nav><h1>${title}</h1>${content}</body></html>`;
}

/** Text of others without secrets (SEC-100), then cut where it may have so many characters only, then made visible; the template escapes it. */
export type Show = (text: string, most?: number) => string;
export const showWith =
  (redact: Redact): Show =>
  (text, most = Number.POSITIVE_INFINITY) =>
    visibleText(cutRedacted(redact(text), most, "\n(cut)"));

export const facts = (pairs: readonly (readonly [string, Html | string])[]): Html =>
  html`<dl>${pairs.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

export const table = (head: readonly string[], rows: readonly (readonly (Html | string)[])[]): Html =>
  html`<table><thead><tr>${head.map((name) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table>`;

export function allowedText({ allowed }: Pick<AuditEvent, "allowed">): string {
  if (allowed === null) return "no decision";
  return allowed ? "yes" : "no";
}
