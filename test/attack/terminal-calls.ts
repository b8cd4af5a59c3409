import { type RawCall, rawCall } from "../../src/workspace/index.ts";

const text = (characters: string): Uint8Array => Buffer.from(`${characters}\0`, "latin1");
const result = (of: number) => ({ kind: "result", of }) as const;
/** `asm-generic/ioctls.h`. */
const requests = { TIOCSPTLCK: 0x4004_5431, TIOCGPTPEER: 0x5441, TIOCSTI: 0x5412, TIOCSETD: 0x5423 };
const readAndWrite = 2; // O_RDWR

/** Opens a terminal of one's own, takes it as the controlling one, and asks it for something: the last result is the answer. */
export const askTerminal = (request: "TIOCSTI" | "TIOCSETD"): readonly RawCall[] => [
  rawCall("setsid"),
  rawCall("open", text("/dev/ptmx"), readAndWrite),
  rawCall("ioctl", result(1), requests.TIOCSPTLCK, new Uint8Array(4)),
  rawCall("ioctl", result(1), requests.TIOCGPTPEER, readAndWrite),
  rawCall("ioctl", result(3), requests[request], new Uint8Array(4)), // a NUL to push, or the plain line discipline
];
