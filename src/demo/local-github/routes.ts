import type { Hook } from "./hook.ts";
import type { Route } from "./router.ts";
import { appRoutes } from "./routes-app.ts";
import { checkRoutes } from "./routes-checks.ts";
import { gitRoutes } from "./routes-git.ts";
import { graphqlRoute } from "./routes-graphql.ts";
import { hookRoutes } from "./routes-hook.ts";
import { issueRoutes } from "./routes-issues.ts";
import { pullRoutes } from "./routes-pulls.ts";
import { reactionRoutes } from "./routes-reactions.ts";
import { refRoutes } from "./routes-refs.ts";
import { repositoryRoutes } from "./routes-repository.ts";
import { reviewRoutes } from "./routes-reviews.ts";

/** All operations. The first that fits is taken: paths with an open end (`{ref}`) come after longer ones. */
export const allRoutes = (hook: Hook): readonly Route[] => [
  ...appRoutes,
  ...hookRoutes(hook),
  graphqlRoute,
  ...checkRoutes,
  ...reactionRoutes,
  ...issueRoutes,
  ...reviewRoutes,
  ...pullRoutes,
  ...refRoutes,
  ...gitRoutes,
  ...repositoryRoutes,
];
