import type { DeliveryCode, DeliveryId, JsonObject, StopCause, TriggerVerb } from "../domain/index.ts";
import type { Repository, Sender } from "./payload-shapes.ts";

/** A webhook whose signature held. The header with the id and the event's name is not signed. */
export type SignedDelivery = {
  readonly deliveryId: DeliveryId;
  readonly eventName: string;
  readonly payload: JsonObject;
  /** SHA-256 of the signed bytes, lower-case hex. */
  readonly bodyDigest: string;
};

/** The runs that a stop is for. */
export type StopScope =
  | { readonly kind: "item"; readonly repositoryId: number; readonly number: number }
  | { readonly kind: "repositories"; readonly ids: readonly number[] }
  | { readonly kind: "installation"; readonly id: number };

/** A stop that a delivery asks for, on record whether or not it found a run. `at`: ISO 8601. */
export type StopMark = { readonly scope: StopScope; readonly at: string };

/** What a sender asks for, who may not have the right to. */
export type Ask = {
  readonly kind: "ask";
  readonly event: string;
  readonly businessKey: string;
  readonly installationId: number;
  readonly repository: Repository;
  readonly item: {
    readonly kind: "issue" | "pull_request";
    readonly id: number;
    readonly number: number;
    readonly isOpen: boolean;
    readonly title: string;
    readonly body: string;
    readonly authorId: number | null;
  };
  readonly sender: Sender;
  /** Of the comment with the command; null for a label. */
  readonly commentId: number | null;
  /** GH-21, as the payload has it. */
  readonly at: string | null;
  /** What stood on and after the line of the command. */
  readonly request: string;
  readonly wants: Wants;
  /** Ids and counts for the answer. */
  readonly detail: JsonObject;
};

export type Wants =
  | { readonly kind: "run"; readonly verb: TriggerVerb }
  | { readonly kind: "stop" }
  /** An answer to a question of a run's; `reason` is free text (GH-3). */
  | {
      readonly kind: "approval";
      readonly verb: "approve" | "deny";
      readonly id: string;
      readonly reason: string;
    }
  | { readonly kind: "answer"; readonly code: DeliveryCode }
  | { readonly kind: "refusal"; readonly code: DeliveryCode };

/** What a signed payload says. */
export type Reading =
  | { readonly kind: "ignored"; readonly event: string; readonly code: DeliveryCode }
  | {
      readonly kind: "stop";
      readonly event: string;
      readonly businessKey: string;
      readonly cause: StopCause;
      readonly scope: StopScope;
      /** When it happened; null where the payload has no time that can be trusted to say so. */
      readonly at: string | null;
      readonly sender: Sender;
    }
  | Ask;
