/** Migration 0004: what a run published, so that a pull request of ours is known by the store and by no text (github.md). */
export const fourth = {
  name: "0004",
  statements: [
    `alter table runs
      add column status_comment_id bigint,
      add column branch text,
      add column head_sha text,
      add column pull_request_number bigint,
      add column pull_request_url text,
      add constraint runs_pull_request check ((pull_request_number is null) = (pull_request_url is null))`,
    `create unique index runs_ours on runs (repository_id, pull_request_number) where pull_request_number is not null`,
  ],
} as const;
