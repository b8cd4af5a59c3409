import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import { isCountersignError, type RandomBytes } from "../domain/index.ts";
import { formPage, messagePage, pageHeaders } from "./register-pages.ts";

export type DeskDeps = {
  readonly randomBytes: RandomBytes;
  /** Finishes the registration with the code that GitHub gave. */
  readonly finish: (code: string) => Promise<void>;
  /** Gets what keeps the registration from being finished at all. */
  readonly fail: (error: unknown) => void;
};

export type DeskForm = {
  /** GitHub's page that takes the manifest. */
  readonly action: string;
  readonly githubUrl: string;
  readonly manifest: string;
  readonly webhookUrl: string;
};

/** The two pages of the registration. `formPath` can't be guessed. */
export type Desk = {
  readonly formPath: string;
  /** Never rejects; the answer has been sent when it is done. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
};

export const callbackPath = "/register/callback";

/** Forms that were shown and not sent yet. Old ones give way, so that reloading the page is harmless. */
const openForms = 16;

type Page = { readonly status: number; readonly html: string };
const refused = (why: string): Page => ({ status: 400, html: messagePage("Not registered", why) });

/** Each form has a state of its own that is good for one answer. */
export function openDesk(deps: DeskDeps, form: DeskForm): Desk {
  const token = (): string => Buffer.from(deps.randomBytes(32)).toString("base64url");
  const formPath = `/register/${token()}`;
  const states = new Set<string>();
  return {
    formPath,
    answer: async (request, response) => {
      const { status, html } = await pageFor(request).catch((error: unknown) => failurePage(deps, error));
      response.writeHead(status, { ...pageHeaders(form.githubUrl), connection: "close" });
      response.end(html);
      await finished(response).catch(() => undefined); // who asked may have gone
    },
  };

  async function pageFor(request: IncomingMessage): Promise<Page> {
    const url = request.method === "GET" ? URL.parse(request.url ?? "/", "http://localhost") : null;
    if (url?.pathname === formPath) return showForm();
    if (url?.pathname === callbackPath) return await takeCode(url.searchParams);
    return { status: 404, html: messagePage("Not found", "There is nothing at this address.") };
  }

  function showForm(): Page {
    const state = token();
    states.add(state);
    for (const oldest of [...states].slice(0, -openForms)) states.delete(oldest);
    return { status: 200, html: formPage({ ...form, action: `${form.action}?state=${state}` }) };
  }

  async function takeCode(query: URLSearchParams): Promise<Page> {
    const code = query.get("code") ?? "";
    if (!states.delete(query.get("state") ?? "") || !/^[A-Za-z0-9_-]{1,200}$/.test(code)) {
      return refused("This answer belongs to no open form, or was used before.");
    }
    await deps.finish(code);
    return { status: 200, html: messagePage("Registered", "Go on in the terminal: it says what to do next.") };
  }
}

function failurePage(deps: DeskDeps, error: unknown): Page {
  if (isCountersignError(error, "REGISTRATION_FAILED")) return refused(`${error.message}; ${error.remedy}.`);
  deps.fail(error);
  return { status: 500, html: messagePage("Not registered", "The terminal says why.") };
}
