import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import type { Clock, RandomBytes } from "../../domain/index.ts";
import { type FaultPlan, Faults, type PlannedFault } from "./faults.ts";
import { createGitStore } from "./git-store.ts";
import { Hook, type HookDelivery, type HookTarget } from "./hook.ts";
import { createItemPeople, type ItemPeople } from "./people-items.ts";
import { createRepositoryPeople, type RepositoryPeople } from "./people-repositories.ts";
import { createReading, type Reading } from "./reading.ts";
import type { LoggedRequest, ServerDeps } from "./request-log.ts";
import { createRouter } from "./router.ts";
import { allRoutes } from "./routes.ts";
import { serve } from "./server.ts";
import type { Account, App, Permissions, World } from "./world.ts";

export type LocalGithubOptions = {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** For the bare repositories; made if it isn't there, never emptied. */
  readonly folder: string;
  /** Default 0: any free one. */
  readonly port?: number;
  /** Where webhooks go; may be set later by `setWebhook`. Unset: deliveries are kept as failed. */
  readonly webhook?: HookTarget;
  readonly app?: {
    readonly id?: number;
    readonly slug?: string;
    /** PEM. Default: a new pair. */
    readonly privateKey?: string;
    readonly permissions?: Permissions;
    readonly events?: readonly string[];
  };
};

export type LocalGithub = AsyncDisposable &
  RepositoryPeople &
  ItemPeople & {
    /** `http://127.0.0.1:<port>`: git and pages. The API is at `apiUrl`. */
    readonly origin: string;
    /** `http://127.0.0.1:<port>/api/v3`. */
    readonly apiUrl: string;
    readonly port: number;
    readonly app: {
      readonly id: number;
      readonly slug: string;
      /** PEM, PKCS #1, as GitHub hands it out. */
      readonly privateKey: string;
      readonly bot: Account;
    };
    readonly read: Reading;
    /** Every request, in the order of the answers. */
    readonly requests: readonly LoggedRequest[];
    readonly deliveries: readonly HookDelivery[];
    setWebhook(target: HookTarget | null): void;
    /** While down, deliveries fail at once, as they do when nobody listens. */
    setReceiverDown(isDown: boolean): void;
    redeliver(deliveryId: number): void;
    /** Resolves once all deliveries have their results. */
    settled(): Promise<void>;
    fault(plan: FaultPlan): PlannedFault;
  };

/** As in `app.yml`: what the App asks for. */
const permissionsDefault: Permissions = {
  contents: "write",
  issues: "write",
  pull_requests: "write",
  checks: "write",
  metadata: "read",
};
const eventsDefault: readonly string[] = [
  "check_run",
  "check_suite",
  "issue_comment",
  "issues",
  "pull_request",
  "pull_request_review",
  "pull_request_review_comment",
  "push",
  "repository",
];

/**
 * A GitHub on 127.0.0.1 for the demo and for tests: REST below `/api/v3`, git over HTTP, signed webhooks, readable pages. Git
 * objects are real and lie in bare repositories below `folder`; everything else is kept in memory and is gone with the process.
 * People's deeds are its methods. `fault` makes chosen requests fail, before or after they had their effect.
 */
export async function startLocalGithub(options: LocalGithubOptions): Promise<LocalGithub> {
  await mkdir(options.folder, { recursive: true });
  const privateKey = await privateKeyOf(options.app?.privateKey);
  let lastId = 1000;
  const nextId = (): number => {
    lastId += 1;
    return lastId;
  };
  const app = describeApp(options, createPublicKey(privateKey), nextId);
  const hook = new Hook({ clock: options.clock, nextId, appId: app.id }, app.events, options.webhook ?? null);
  const server = createServer();
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { clock, randomBytes } = options;
  const emit: World["emit"] = (emitted) => hook.emit(emitted);
  const world = emptyWorld({ clock, randomBytes, app, origin: `http://127.0.0.1:${port}`, emit, nextId });
  const deps: ServerDeps = { world, find: createRouter(allRoutes(hook)), faults: new Faults(), log: [] };
  listen(server, deps);
  return {
    ...createRepositoryPeople(world, hook, options.folder),
    ...createItemPeople(world),
    ...controls(deps, hook),
    origin: world.origin,
    apiUrl: `${world.origin}/api/v3`,
    port,
    app: {
      id: app.id,
      slug: app.slug,
      privateKey: privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
      bot: app.bot,
    },
    async [Symbol.asyncDispose]() {
      await hook.close();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const emptyWorld = (given: Pick<World, "clock" | "randomBytes" | "app" | "origin" | "emit" | "nextId">): World => ({
  ...given,
  git: createGitStore(),
  accounts: new Map([given.app.owner, given.app.bot].map((account) => [account.login.toLowerCase(), account])),
  installations: new Map(),
  repositories: new Map(),
  formerNames: new Map(),
  tokens: new Map(),
});

async function privateKeyOf(pem: string | undefined): Promise<KeyObject> {
  if (pem !== undefined) return createPrivateKey(pem);
  return (await promisify(generateKeyPair)("rsa", { modulusLength: 2048 })).privateKey;
}

function describeApp(options: LocalGithubOptions, publicKey: KeyObject, nextId: () => number): App {
  const slug = options.app?.slug ?? "countersign-local";
  return {
    id: options.app?.id ?? nextId(),
    slug,
    name: slug,
    clientId: `Iv23local${slug.length}`,
    publicKey,
    owner: { id: nextId(), login: "local-operator", type: "User" },
    bot: { id: nextId(), login: `${slug}[bot]`, type: "Bot" },
    permissions: options.app?.permissions ?? permissionsDefault,
    events: options.app?.events ?? eventsDefault,
  };
}

function listen(server: Server, deps: ServerDeps): void {
  server.on("request", (request, response) => {
    serve(deps, request, response).catch((cause: unknown) => {
      response.destroy(cause instanceof Error ? cause : new Error("the local GitHub failed", { cause }));
    });
  });
}

const controls = (deps: ServerDeps, hook: Hook) => ({
  read: createReading(deps.world),
  requests: deps.log,
  deliveries: hook.deliveries,
  setWebhook(target: HookTarget | null): void {
    hook.target = target;
  },
  setReceiverDown(isDown: boolean): void {
    hook.isReceiverDown = isDown;
  },
  redeliver(deliveryId: number): void {
    if (!hook.redeliver(deliveryId)) throw new Error(`there is no delivery ${deliveryId}`);
  },
  settled: (): Promise<void> => hook.settled(),
  fault: (plan: FaultPlan): PlannedFault => deps.faults.plan(plan),
});
