import { type Answer, notFound, ok } from "./answer.ts";
import { deliveryView, type Hook, wholeDeliveryView } from "./hook.ts";
import { type Call, numberOf, type Route } from "./router.ts";

const pageSizeDefault = 30;
const pageSizeMost = 100;

export const hookRoutes = (hook: Hook): readonly Route[] => [
  {
    kind: "plain",
    method: "GET",
    path: "/app/hook/config",
    needs: "app",
    handle: () => {
      const where = hook.target === null ? {} : { url: hook.target.url, secret: "********" };
      return ok({ content_type: "json", insecure_ssl: "0", ...where });
    },
  },
  {
    kind: "plain",
    method: "GET",
    path: "/app/hook/deliveries",
    needs: "app",
    handle: (call) => list(call, hook),
  },
  {
    kind: "plain",
    method: "GET",
    path: "/app/hook/deliveries/{delivery_id}",
    needs: "app",
    handle: (call) => {
      const id = numberOf(call, "delivery_id");
      const delivery = hook.deliveries.find((one) => one.id === id);
      if (delivery === undefined) throw notFound();
      return ok(wholeDeliveryView(delivery));
    },
  },
  {
    kind: "plain",
    method: "POST",
    path: "/app/hook/deliveries/{delivery_id}/attempts",
    needs: "app",
    handle: (call) => {
      if (!hook.redeliver(numberOf(call, "delivery_id"))) throw notFound();
      return { status: 202, body: {} };
    },
  },
];

/** Newest first; pages follow a cursor, which is the id of the first delivery of a page. */
function list(call: Call, hook: Hook): Answer {
  const size = Math.min(pageSizeMost, Math.max(1, Number(call.query.get("per_page") ?? pageSizeDefault) || 1));
  const cursor = call.query.get("cursor");
  const all = hook.deliveries.toReversed();
  const start =
    cursor === null
      ? 0
      : Math.max(
          0,
          all.findIndex((delivery) => String(delivery.id) === cursor),
        );
  const next = all[start + size];
  const headers: Record<string, string> = {};
  if (next !== undefined) {
    const url = new URL(call.url);
    url.searchParams.set("cursor", String(next.id));
    headers["Link"] = `<${url.href}>; rel="next"`;
  }
  return { ...ok(all.slice(start, start + size).map(deliveryView)), headers };
}
