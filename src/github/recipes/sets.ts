import { CountersignError, isCountersignError } from "../../domain/index.ts";
import * as shapes from "../answers.ts";
import { isRefused } from "../failure.ts";
import { reactionsOf } from "../reader.ts";
import type { WriteRow } from "../write-row.ts";
import type { AddLabel, AddReaction, DeleteBranch, RemoveLabel } from "../writes.ts";
import { conversationPermissions } from "./comments.ts";

export const addReaction: WriteRow<AddReaction> = {
  naturalKey: ({ target, content }) =>
    `reaction ${content} on ${target.kind} ${target.kind === "issue" ? target.issue : target.comment}`,
  precondition: "none: a set holds a thing once",
  recipe: "list the reactions: this content by our bot user, applied; else not applied",
  permissions: conversationPermissions,
  send: async ({ send }, { target, content }, signal) => {
    const { path, parameters } = reactionsOf(target);
    const request = { method: "POST", route: path, parameters: { ...parameters, content } } as const;
    const { id } = await send(request, shapes.Reaction, signal);
    return { reaction_id: id, content };
  },
  look: async ({ reader, app }, { target, content }, _since, signal) => {
    const { items, isComplete } = await reader.reactions(target, signal);
    const { botUserId } = await app(signal);
    const own = items.find((reaction) => reaction.userId === botUserId && reaction.content === content);
    const saw = { reactions: items.length };
    if (own !== undefined) return { kind: "applied", result: { reaction_id: own.id, content }, saw };
    return { kind: isComplete ? "not_applied" : "inconclusive", saw };
  },
};

/** GitHub takes names of labels that differ in case for one. */
const isOn = (labels: readonly string[], label: string): boolean =>
  labels.some((name) => name.toLowerCase() === label.toLowerCase());

export const addLabel: WriteRow<AddLabel> = {
  naturalKey: ({ issue, label }) => `label ${label} on ${issue}`,
  precondition: "none: a set holds a thing once",
  recipe: "read the labels: on, applied; off, not applied",
  permissions: conversationPermissions,
  send: async ({ send }, { issue, label }, signal) => {
    const parameters = { issue_number: issue, labels: [label] };
    const labels = await send(
      { method: "POST", route: "/issues/{issue_number}/labels", parameters },
      shapes.Labels,
      signal,
    );
    return { label, on: isOn(labels, label) };
  },
  look: async ({ reader }, { issue, label }, _since, signal) => {
    const { labels } = await reader.issue(issue, signal);
    const saw = { labels: labels.length };
    return isOn(labels, label) ? { kind: "applied", result: { label, on: true }, saw } : { kind: "not_applied", saw };
  },
};

export const removeLabel: WriteRow<RemoveLabel> = {
  naturalKey: ({ issue, label }) => `no label ${label} on ${issue}`,
  precondition: "none: what is absent is removed already",
  recipe: "read the labels: off, applied; on, not applied",
  permissions: conversationPermissions,
  send: async ({ send, reader }, { issue, label }, signal) => {
    const parameters = { issue_number: issue, name: label };
    try {
      await send(
        { method: "DELETE", route: "/issues/{issue_number}/labels/{name}", parameters },
        shapes.Labels,
        signal,
      );
    } catch (error) {
      if (!isCountersignError(error, "GITHUB_NOT_FOUND")) throw error;
      if (isOn((await reader.issue(issue, signal)).labels, label)) throw error;
    }
    return { label, on: false };
  },
  look: async ({ reader }, { issue, label }, _since, signal) => {
    const { labels } = await reader.issue(issue, signal);
    const saw = { labels: labels.length };
    return isOn(labels, label) ? { kind: "not_applied", saw } : { kind: "applied", result: { label, on: false }, saw };
  },
};

export const deleteBranch: WriteRow<DeleteBranch> = {
  naturalKey: ({ branch, expectedSha }) => `no ref heads/${branch} at ${expectedSha}`,
  precondition: "the ref stands at the expected commit",
  recipe: "read the ref: absent, applied; the expected commit, not applied; else inconclusive",
  permissions: { contents: "write" },
  send: async ({ send, reader }, { branch, expectedSha }, signal) => {
    const head = await reader.branch(branch, signal);
    const result = { branch, deleted: true };
    if (head === null) return result;
    if (head.sha !== expectedSha)
      throw new CountersignError("GITHUB_BRANCH_TAKEN", `the branch \`${branch}\` stands at another commit than ours`, {
        details: { expected: expectedSha, found: head.sha },
      });
    const parameters = { ref: `heads/${branch}` };
    try {
      await send({ method: "DELETE", route: "/git/refs/{ref}", parameters }, shapes.Nothing, signal);
    } catch (error) {
      if (!isRefused(error) || (await reader.branch(branch, signal)) !== null) throw error;
    }
    return result;
  },
  look: async ({ reader }, { branch, expectedSha }, _since, signal) => {
    const head = await reader.branch(branch, signal);
    const saw = { ref: `heads/${branch}`, sha: head?.sha ?? null };
    if (head === null) return { kind: "applied", result: { branch, deleted: true }, saw };
    return { kind: head.sha === expectedSha ? "not_applied" : "inconclusive", saw };
  },
};
