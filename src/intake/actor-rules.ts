import type { DeliveryCode } from "../domain/index.ts";
import type { Sender } from "./payload-shapes.ts";

/** SEC-33: compared by exact code points. */
export const triggerLabel = "countersign";

/** Who may act for nobody (SEC-30): our own App, and what the operator lists. */
export type ActorRules = {
  readonly ownApp: { readonly id: number; readonly botUserId: number };
  readonly allowedBots: readonly number[];
};

/** SEC-30, GH-12, GH-33: what no permission can mend, and what is never answered. */
export function actorRefusal(rules: ActorRules, sender: Sender, viaAppId: number | null): DeliveryCode | null {
  const { ownApp, allowedBots } = rules;
  if (sender.id === ownApp.botUserId || viaAppId === ownApp.id) return "own_app";
  if (viaAppId !== null && !allowedBots.includes(viaAppId)) return "app_actor";
  if (sender.type !== "User" && !allowedBots.includes(sender.id)) return "bot_actor";
  return null;
}
