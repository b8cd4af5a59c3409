/** What a comparison asks of the word last loaded. */
type Test = "is" | "is_at_least" | "has_a_bit_of";

/**
 * One line of a filter before its jumps are resolved. A comparison that holds or fails goes to the place named for that,
 * or on to the next line where none is named.
 */
export type FilterLine =
  /** Loads 32 bits of `struct seccomp_data`. */
  | { readonly kind: "load"; readonly offset: number }
  | {
      readonly kind: "compare";
      readonly test: Test;
      readonly value: number;
      readonly holds?: string;
      readonly fails?: string;
    }
  | { readonly kind: "place"; readonly name: string }
  | { readonly kind: "return"; readonly action: number };

/** One `struct sock_filter` (`linux/filter.h`). */
type Instruction = { readonly code: number; readonly jt: number; readonly jf: number; readonly k: number };

/** `linux/bpf_common.h`: class, size and mode, added up. */
const codes = {
  load: 0x20, // BPF_LD | BPF_W | BPF_ABS
  is: 0x15, // BPF_JMP | BPF_JEQ | BPF_K
  is_at_least: 0x35, // BPF_JMP | BPF_JGE | BPF_K
  has_a_bit_of: 0x45, // BPF_JMP | BPF_JSET | BPF_K
  return: 0x06, // BPF_RET | BPF_K
} as const;

const furthestJump = 255;

/** Assembles classic BPF for `seccomp(2)`. Jumps lead forwards only; one that leads nowhere or too far is a bug and throws. */
export function assemble(lines: readonly FilterLine[]): readonly Instruction[] {
  const places = new Map<string, number>();
  let count = 0;
  for (const line of lines) {
    if (line.kind === "place") places.set(line.name, count);
    else count += 1;
  }
  return lines
    .filter((line) => line.kind !== "place")
    .map((line, at) => {
      if (line.kind === "load") return { code: codes.load, jt: 0, jf: 0, k: line.offset };
      if (line.kind === "return") return { code: codes.return, jt: 0, jf: 0, k: line.action };
      const steps = (name: string | undefined): number => (name === undefined ? 0 : jump(places, name, at));
      return { code: codes[line.test], jt: steps(line.holds), jf: steps(line.fails), k: line.value };
    });
}

/** Counted from the instruction after the one that jumps. */
function jump(places: ReadonlyMap<string, number>, name: string, from: number): number {
  const steps = (places.get(name) ?? Number.NaN) - from - 1;
  if (steps >= 0 && steps <= furthestJump) return steps;
  throw new Error(`no jump of at most ${furthestJump} instructions leads from ${from} to \`${name}\``);
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");

/** The form that the repository keeps: an instruction a line, `code jt jf k` in hexadecimal. */
export function filterText(instructions: readonly Instruction[]): string {
  return instructions
    .map(({ code, jt, jf, k }) => `${hex(code, 4)} ${hex(jt, 2)} ${hex(jf, 2)} ${hex(k, 8)}\n`)
    .join("");
}
