import { atMost, figure, ratio, type Size } from "../figure.ts";
import { openGateway } from "../open-gateway.ts";
import type { Row } from "./row.ts";

const megabyte = 1_000_000;
/** Both are more than what is kept of a command's output, so that only what is dropped grows. */
const littleBytes = 20 * megabyte;
const muchBytes: Readonly<Record<Size, number>> = {
  short: 40 * megabyte,
  bench: 400 * megabyte,
  soak: 4_000 * megabyte,
};

/** ACI-57: whatever a command writes, the memory of the host stays flat. */
export const outputRow: Row = {
  name: "output",
  title: "peak memory of the host over a command's output, little beside much",
  measure: async (place, size, signal) => {
    await using gateway = await openGateway(place, signal);
    const { workspace } = gateway.run;
    const peakMb = async (bytes: number): Promise<number> => {
      const script = `head -c ${bytes} /dev/zero | tr '\\0' x`;
      await workspace.exec({ program: { kind: "shell", script }, timeoutMs: 600_000 }, signal);
      return process.resourceUsage().maxRSS / 1024;
    };
    await peakMb(littleBytes); // the first one pays for the buffers
    const little = [await peakMb(littleBytes)];
    const much = [await peakMb(muchBytes[size])];
    return [
      figure(`peak memory, ${littleBytes / megabyte} MB of output`, "MB", little),
      figure(`peak memory, ${muchBytes[size] / megabyte} MB of output`, "MB", much),
      ratio("much / little", much, little, atMost(1.2)),
    ];
  },
};
