/** Largest text that is sent, in bytes of UTF-8 (GH-105). */
export const textLimitBytes = 65_536;

/** Text of others with everything taken out of it that GitHub would act on (SEC-115). It stays readable. */
export function inert(_text: string, _repositoryUrl: string): string {
  throw new Error("not built yet");
}

/** The text in a fence that nothing in it can close. */
export function fenced(_text: string, _language = ""): string {
  throw new Error("not built yet");
}

/** Cut to `limitBytes` of UTF-8 with a notice of how much is missing; `whole` says where all of it is. */
export function cutText(_text: string, _whole: string, _limitBytes?: number): string {
  throw new Error("not built yet");
}
