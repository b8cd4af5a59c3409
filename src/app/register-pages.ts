/** Headers of the pages: nothing is loaded, kept or told to another site; the form goes to GitHub alone. */
export const pageHeaders = (githubUrl: string): Readonly<Record<string, string>> => ({
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": `default-src 'none'; form-action ${githubUrl}; frame-ancestors 'none'; base-uri 'none'`,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
});

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character] ?? "");

/** A page of one heading and paragraphs. */
export const messagePage = (title: string, ...paragraphs: readonly string[]): string => page(title, textOf(paragraphs));

/** The page whose one button sends the manifest to GitHub. */
export const formPage = (form: {
  readonly action: string;
  readonly manifest: string;
  readonly webhookUrl: string;
}): string =>
  page(
    "Register Countersign",
    textOf([
      `GitHub shows you the App before it makes it; there you can choose another name. Its webhooks will come to ${form.webhookUrl}.`,
    ]) +
      `<form method="post" action="${escaped(form.action)}">` +
      `<input type="hidden" name="manifest" value="${escaped(form.manifest)}">` +
      `<button type="submit">Go to GitHub</button></form>`,
  );

const textOf = (paragraphs: readonly string[]): string => paragraphs.map((text) => `<p>${escaped(text)}</p>`).join("");

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title></head>` +
  `<body><h1>${escaped(title)}</h1>${body}</body></html>\n`;
