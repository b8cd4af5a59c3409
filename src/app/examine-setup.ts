import type { OperatorSettings } from "../policy/index.ts";
import { readRegistries, type WorkspaceDeps } from "../workspace/index.ts";
import type { Check } from "./examine-github.ts";
import type { CountersignSettings } from "./settings.ts";

/**
 * Which hosts a setup may reach here, asked as a run would (SEC-67, SEC-68). No network at all is no fault: the operator wants
 * it so. A network without a host is one, since each setup that asks for it would fail.
 */
export async function checkSetupHosts(
  deps: WorkspaceDeps,
  { setupNetwork }: Pick<CountersignSettings, "setupNetwork">,
  setup: OperatorSettings["setup"],
  signal: AbortSignal,
): Promise<Check> {
  const name = "setup_hosts";
  if (setupNetwork === undefined || setup.network === "none") {
    return { name, ok: true, detail: "none: `setup.network` in operator.json gives no setup a network", remedy: "" };
  }
  const found = await readRegistries(deps, setupNetwork.packageManagers, signal);
  const internal = setup.internalHost;
  const hosts = [
    ...new Set([...found.hosts, ...setup.hosts]),
    ...(internal === null ? [] : [`${internal.host} (at ${internal.addresses})`]),
  ];
  const detail = [hosts.length === 0 ? "no host" : hosts.join(", "), ...found.unusable].join("; ");
  if (hosts.length > 0) return { name, ok: true, detail, remedy: "" };
  const remedy = "configure a registry for npm or pip of the service's user, or name hosts in `setup.hosts`";
  return { name, ok: false, detail, remedy };
}
