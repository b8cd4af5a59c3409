import { commentsOf, labelsOf } from "./views-issue.ts";
import { filesOf, isPull, type PullItem } from "./views-pull.ts";
import { fullNameOf, type Item, type Repository, type World } from "./world.ts";

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const safe = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => escapes[sign] ?? "");

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1f2328}" +
  "pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f6f8fa;padding:1rem;border-radius:6px}" +
  "small{color:#59636e}h2{margin-top:2rem}";

const pageOf = (title: string, parts: readonly string[]): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${safe(title)}</title><style>${style}</style></head>` +
  `<body>${parts.join("\n")}</body></html>\n`;

/** An issue or pull request for a person to read. All texts stand as they were written, none is rendered. */
export async function itemPage(world: World, repository: Repository, item: Item): Promise<string> {
  const labels = labelsOf(repository, item).map((label) => label.name);
  const heading = `${item.title} #${item.number}`;
  const parts = [
    `<small>${safe(fullNameOf(repository))} on the local GitHub</small>`,
    `<h1>${safe(heading)}</h1>`,
    `<p>${stateOf(item)} · by ${safe(item.author.login)}${labels.length > 0 ? ` · ${safe(labels.join(", "))}` : ""}</p>`,
    `<pre>${safe(item.body ?? "")}</pre>`,
  ];
  for (const comment of commentsOf(repository, item.number))
    parts.push(
      `<h2>${safe(comment.author.login)}</h2><small>${comment.createdAt}</small><pre>${safe(comment.body)}</pre>`,
    );
  if (isPull(item)) parts.push(...(await pullParts(world, repository, item)));
  return pageOf(heading, parts);
}

async function pullParts(world: World, repository: Repository, { pull }: PullItem): Promise<readonly string[]> {
  const runs = [...repository.checkRuns.values()].filter((run) => run.headSha === pull.headSha);
  const files = await filesOf(world, repository, pull);
  return [
    ...runs.map(
      (run) =>
        `<h2>Check ${safe(run.name)}: ${safe(run.conclusion ?? run.status)}</h2><pre>${safe(run.output.summary ?? "")}</pre>`,
    ),
    ...files.map(
      (file) =>
        `<h2>${safe(file.path)}</h2><small>+${file.additions} −${file.deletions}</small><pre>${safe(file.patch)}</pre>`,
    ),
  ];
}

function stateOf(item: Item): string {
  if (item.pull?.mergedAt) return "merged";
  return item.pull?.isDraft === true && item.state === "open" ? "draft" : item.state;
}

/** The items of a repository. */
export const listPage = (repository: Repository): string =>
  pageOf(fullNameOf(repository), [
    `<h1>${safe(fullNameOf(repository))}</h1>`,
    "<ul>",
    ...[...repository.items.values()]
      .filter((item) => !item.isDeleted)
      .map(
        (item) =>
          `<li><a href="/${safe(fullNameOf(repository))}/${item.pull === null ? "issues" : "pull"}/${item.number}">#${item.number} ${safe(item.title)}</a> ${stateOf(item)}</li>`,
      ),
    "</ul>",
  ]);
