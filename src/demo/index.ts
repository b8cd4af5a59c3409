/**
 * The stand-ins for a trial without accounts: a scripted model that speaks the real chat completions protocol, and a small
 * sample repository with a bug to fix. Nothing of the product is different when they are used.
 * Door: `startScriptedModel` (listens on 127.0.0.1), `writeSampleRepository` and `commitOnce` (a git repository with one commit).
 * Never: knows a path, a line or a fix beforehand; the model derives all of them from the tool results that it is sent.
 */
export { commitOnce } from "./one-commit.ts";
export { type SampleRepository, writeSampleRepository } from "./sample-repository.ts";
export { type ScriptedModel, startScriptedModel } from "./scripted-model.ts";
