/** What `struct seccomp_data` holds (`linux/seccomp.h`). */
export type SystemCall = { readonly arch: number; readonly nr: number; readonly args: readonly bigint[] };

/** The 64 bytes that a filter looks at, as the kernel of a little-endian machine lays them out. */
function dataOf({ arch, nr, args }: SystemCall): DataView {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, nr, true);
  data.setUint32(4, arch, true);
  args.forEach((value, index) => {
    data.setBigUint64(16 + 8 * index, BigInt.asUintN(64, value), true);
  });
  return data;
}

/**
 * Runs a compiled filter as the kernel does (`Documentation/networking/filter.rst`) and gives its return value. Throws where the
 * kernel would not have taken it: an unknown instruction, a load out of place, a way past the end.
 */
export function runFilter(filter: Uint8Array, call: SystemCall): number {
  const program = new DataView(filter.buffer, filter.byteOffset, filter.byteLength);
  const data = dataOf(call);
  let loaded = 0;
  for (let at = 0; at * 8 + 8 <= filter.byteLength; ) {
    const code = program.getUint16(at * 8, true);
    const k = program.getUint32(at * 8 + 4, true);
    const jump = (holds: boolean): number => at + 1 + program.getUint8(at * 8 + (holds ? 2 : 3));
    switch (code) {
      case 0x20: // LD W ABS
        if (k % 4 !== 0) throw new Error(`instruction ${at} loads from ${k}`);
        loaded = data.getUint32(k, true);
        at += 1;
        break;
      case 0x15: // JEQ
        at = jump(loaded === k);
        break;
      case 0x25: // JGT
        at = jump(loaded > k);
        break;
      case 0x35: // JGE
        at = jump(loaded >= k);
        break;
      case 0x45: // JSET
        at = jump((loaded & k) !== 0);
        break;
      case 0x06: // RET K
        return k;
      default:
        throw new Error(`instruction ${at} has the unknown code ${code}`);
    }
  }
  throw new Error("the filter ends without an answer");
}
