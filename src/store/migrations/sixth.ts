/**
 * Migration 0006: approvals that are asked for on GitHub (AUD-34 to AUD-39). `approval_answers`: the primary key is what makes the
 * first answer the only one, whichever process took it. `question_action_id`: the action that put the question as a comment.
 */
export const sixth = {
  name: "0006",
  statements: [
    `alter table approvals add column question_action_id uuid unique`,
    `create table approval_answers (
      approval_id uuid primary key references approvals,
      answer text not null check (answer in ('granted', 'refused', 'expired')),
      delivery_id text,
      answered_at timestamptz(3) not null
    )`,
    `create trigger refuse_change before update or delete or truncate on approval_answers
      for each statement execute function refuse_change()`,
  ],
} as const;
