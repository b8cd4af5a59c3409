import { type SystemCall, systemCalls } from "./system-calls.ts";

/** An argument of a call: a number, bytes to point to, room for an answer, or what an earlier call of the program returned. */
export type CallArgument =
  | number
  | bigint
  | Uint8Array
  | { readonly kind: "room" }
  | { readonly kind: "result"; readonly of: number };

/** `x64`: as any program makes it. `i386`: by the gate of 32-bit programs, which a filter sees as a foreign architecture. */
export type RawCall = {
  readonly gate: "x64" | "i386";
  readonly number: number;
  readonly args: readonly CallArgument[];
};

export const rawCall = (name: SystemCall, ...args: readonly CallArgument[]): RawCall => ({
  gate: "x64",
  number: systemCalls[name],
  args,
});

/** Where the program lies in its memory, and where it keeps what it is told. */
const codeAddress = 0x40_0000;
const resultsAddress = 0x60_0000;
const roomAddress = resultsAddress + 0x1000;
const headerBytes = 64 + 2 * 56;
const dataOffset = 0x2000; // far behind the code of as many calls as a probe makes

/** Each register of an argument, in order: the bytes of `mov reg, imm64` and of `mov reg, [disp32]` before their operand. */
const registers = [
  { name: "rdi", immediate: [0x48, 0xbf], load: [0x48, 0x8b, 0x3c, 0x25] },
  { name: "rsi", immediate: [0x48, 0xbe], load: [0x48, 0x8b, 0x34, 0x25] },
  { name: "rdx", immediate: [0x48, 0xba], load: [0x48, 0x8b, 0x14, 0x25] },
  { name: "r10", immediate: [0x49, 0xba], load: [0x4c, 0x8b, 0x14, 0x25] },
  { name: "r8", immediate: [0x49, 0xb8], load: [0x4c, 0x8b, 0x04, 0x25] },
  { name: "r9", immediate: [0x49, 0xb9], load: [0x4c, 0x8b, 0x0c, 0x25] },
] as const;
const setNumber = [0x48, 0xb8]; // mov rax, imm64
const storeResult = [0x48, 0x89, 0x04, 0x25]; // mov [disp32], rax
const gates = { x64: [0x0f, 0x05], i386: [0xcd, 0x80] }; // syscall; int 0x80
/** test rax, rax; jnz over; xor edi, edi; mov eax, 60; syscall: the new process of a `clone` ends at once. */
const endIfChild = [0x48, 0x85, 0xc0, 0x75, 0x09, 0x31, 0xff, 0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05];

function quad(value: number | bigint): number[] {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
  return [...bytes];
}

function double(value: number): number[] {
  return quad(value).slice(0, 4);
}

/**
 * An ELF program for x64 Linux that makes these calls one after another and writes what each returned to its standard output,
 * 8 bytes each. It needs no library, loader or interpreter, so that a probe can make any call on any machine.
 */
export function systemCallProgram(wanted: readonly RawCall[]): Uint8Array {
  const data: number[] = [];
  const pointTo = (bytes: Uint8Array): number => {
    const address = codeAddress + dataOffset + data.length;
    data.push(...bytes, 0, ...new Array<number>(7 - (bytes.length % 8)).fill(0));
    return address;
  };
  const setArgument = (argument: CallArgument, index: number): number[] => {
    const register = registers[index];
    if (register === undefined) throw new Error("a system call takes at most six arguments");
    if (typeof argument === "number" || typeof argument === "bigint") return [...register.immediate, ...quad(argument)];
    if (argument instanceof Uint8Array) return [...register.immediate, ...quad(pointTo(argument))];
    if (argument.kind === "room") return [...register.immediate, ...quad(roomAddress)];
    return [...register.load, ...double(resultsAddress + 8 * argument.of)];
  };
  const make = ({ gate, number, args }: RawCall): number[] => [
    ...args.flatMap(setArgument),
    ...[...setNumber, ...quad(number), ...gates[gate]],
    ...(number === systemCalls.clone || number === systemCalls.clone3 ? endIfChild : []),
  ];
  const code = [
    ...wanted.flatMap((call, at) => [...make(call), ...storeResult, ...double(resultsAddress + 8 * at)]),
    ...make(rawCall("write", 1, resultsAddress, 8 * wanted.length)),
    ...make(rawCall("exit_group", 0)),
  ];
  if (headerBytes + code.length > dataOffset) throw new Error("too many calls for one program");
  const program = Buffer.alloc(dataOffset + data.length);
  program.set(headers(program.length));
  program.set(code, headerBytes);
  program.set(data, dataOffset);
  return program;
}

/** `elf(5)`: the file header, one segment of code and constants, one of what is written. */
function headers(fileBytes: number): number[] {
  const short = (value: number): number[] => quad(value).slice(0, 2);
  const identity = [0x7f, ...Buffer.from("ELF"), 2, 1, 1, 0, ...quad(0)];
  const entry = codeAddress + headerBytes;
  const file = [
    ...[...identity, ...short(2), ...short(62), ...double(1)], // ET_EXEC, EM_X86_64, EV_CURRENT
    ...[...quad(entry), ...quad(64), ...quad(0), ...double(0)],
    ...[...short(64), ...short(56), ...short(2), ...short(64), ...short(0), ...short(0)],
  ];
  const segment = (flags: number, address: number, sizes: readonly [number, number]): number[] => [
    ...[...double(1), ...double(flags), ...quad(0), ...quad(address), ...quad(address)],
    ...[...quad(sizes[0]), ...quad(sizes[1]), ...quad(0x1000)],
  ];
  return [...file, ...segment(5, codeAddress, [fileBytes, fileBytes]), ...segment(6, resultsAddress, [0, 0x2000])];
}

/** What each call returned, an error as its negative number; null where the program did not come to its end. */
export function readResults(output: Uint8Array, count: number): readonly number[] | null {
  if (output.length !== 8 * count) return null;
  const bytes = Buffer.from(output);
  return Array.from({ length: count }, (_, at) => Number(bytes.readBigInt64LE(8 * at)));
}
