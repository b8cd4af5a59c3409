import { z } from "zod";

/** What is read of a payload, strictly, and nothing else (GH-24). GitHub documents `nullish` fields so. */
const id = z.int().min(1);
/** As the store counts them: PostgreSQL's `integer`. */
const itemNumber = z.int().min(1).max(2_147_483_647);
/** A text of PostgreSQL holds no NUL, and no name of GitHub's a control character. */
const name = z
  .string()
  .min(1)
  .max(255)
  .regex(/^\P{Cc}+$/u);
const login = name.max(128);
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;
/** Null also where it is no time of GitHub's form (RFC 3339): what else `Date` reads, the store may not. */
const time = z
  .string()
  .nullish()
  .transform((text) => (text && timeForm.test(text) && !Number.isNaN(Date.parse(text)) ? text : null));
const sender = z.object({ id, login, type: z.string() });
const repository = z.object({
  id,
  name,
  owner: z.object({ login }),
  fork: z.boolean().nullish(),
  archived: z.boolean().nullish(),
  disabled: z.boolean().nullish(),
});
const installation = z.object({ id }).nullish();
const item = z.object({
  id,
  number: itemNumber,
  title: z.string(),
  body: z.string().nullish(),
  state: z.string().nullish(),
  updated_at: time,
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
    created_at: time,
    performed_via_github_app: z.object({ id }).nullish(),
  }),
});
export type CommentPayload = z.infer<typeof CommentPayload>;

export const ItemPayload = z.object({
  repository: z.object({ id }),
  sender,
  issue: z.object({ number: itemNumber, updated_at: time }).optional(),
  pull_request: z.object({ number: itemNumber, updated_at: time }).optional(),
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
