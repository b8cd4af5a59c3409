/** Migration 0005: what a run has spent, for the cap of a day, and quick looks at a repository's last ends (SEC-35). */
export const fifth = {
  name: "0005",
  statements: [
    `alter table runs add column used_tokens bigint check (used_tokens >= 0)`,
    `create index runs_repository_ends on runs (repository_id, completed_at desc) where status = 'completed'`,
  ],
} as const;
