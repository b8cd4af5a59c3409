import { refused } from "./answer.ts";
import type { Call } from "./router.ts";
import type { Actor } from "./tell.ts";
import type { Permissions } from "./world.ts";

/** An installation acts as the App's bot. */
export const actorOf = ({ world }: Call): Actor => ({ account: world.app.bot, viaApp: true });

export function permissionsOf({ caller }: Call): Permissions {
  if (caller.kind !== "installation") throw refused(401, "Requires authentication");
  return caller.token.permissions;
}
