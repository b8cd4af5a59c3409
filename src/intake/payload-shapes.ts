import { z } from "zod";

/** What is read of a payload, strictly, and nothing else (GH-24). GitHub documents `nullish` fields so. */
const id = z.int().min(1);
const login = z.string().min(1).max(128);
const sender = z.object({ id, login, type: z.string() });
const repository = z.object({
  id,
  name: z.string().min(1),
  owner: z.object({ login }),
  fork: z.boolean().nullish(),
  archived: z.boolean().nullish(),
  disabled: z.boolean().nullish(),
});
const installation = z.object({ id }).nullish();
const item = z.object({
  id,
  number: id,
  title: z.string(),
  body: z.string().nullish(),
  state: z.string().nullish(),
  updated_at: z.string().nullish(),
  user: z.object({ id }).nullish(),
  /** An object where the item is a pull request; else the key is not there. */
  pull_request: z.unknown().optional(),
});

const base = { installation, repository, sender };

export const LabelledPayload = z.object({ ...base, issue: item, label: z.object({ id, name: z.string() }) });
export type LabelledPayload = z.infer<typeof LabelledPayload>;

export const CommentPayload = z.object({
  ...base,
  issue: item,
  comment: z.object({
    id,
    body: z.string(),
    created_at: z.string().nullish(),
    performed_via_github_app: z.object({ id }).nullish(),
  }),
});
export type CommentPayload = z.infer<typeof CommentPayload>;

export const ItemPayload = z.object({
  repository: z.object({ id }),
  sender,
  issue: z.object({ number: id, updated_at: z.string().nullish() }).optional(),
  pull_request: z.object({ number: id, updated_at: z.string().nullish() }).optional(),
  label: z.object({ name: z.string() }).nullish(),
});

export const RepositoryPayload = z.object({ repository: z.object({ id }), sender });

export const InstallationPayload = z.object({ installation: z.object({ id }), sender });

export const RemovedPayload = z.object({
  installation: z.object({ id }),
  sender,
  repositories_removed: z.array(z.object({ id })),
});

export type Repository = z.infer<typeof repository>;
export type Item = z.infer<typeof item>;
export type Sender = z.infer<typeof sender>;
