const mebibyte = 1024 * 1024;
const headBytes = 4 * mebibyte;
const tailBytes = 12 * mebibyte;

/** Keeps the first 4 MiB and the last 12 MiB of a stream (ACI-57): memory stays flat, whatever its length and its chunks. */
export class BoundedOutput {
  #head = Buffer.allocUnsafeSlow(64 * 1024);
  #headLength = 0;
  /** A ring, made when the head is full; the kernel gives its pages only as they are written. */
  #tail: Buffer | null = null;
  #tailTotal = 0;

  add(chunk: Uint8Array): void {
    const toHead = Math.min(chunk.length, headBytes - this.#headLength);
    if (toHead > 0) this.#addToHead(chunk.subarray(0, toHead));
    if (toHead < chunk.length) this.#addToTail(chunk.subarray(toHead));
  }

  #addToHead(bytes: Uint8Array): void {
    const needed = this.#headLength + bytes.length;
    if (needed > this.#head.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(headBytes, Math.max(needed, 2 * this.#head.length)));
      this.#head.copy(grown, 0, 0, this.#headLength);
      this.#head = grown;
    }
    this.#head.set(bytes, this.#headLength);
    this.#headLength = needed;
  }

  #addToTail(bytes: Uint8Array): void {
    this.#tail ??= Buffer.allocUnsafeSlow(tailBytes);
    const kept = bytes.subarray(Math.max(0, bytes.length - tailBytes));
    this.#tailTotal += bytes.length - kept.length;
    const at = this.#tailTotal % tailBytes;
    const toEnd = Math.min(kept.length, tailBytes - at);
    this.#tail.set(kept.subarray(0, toEnd), at);
    this.#tail.set(kept.subarray(toEnd), 0);
    this.#tailTotal += kept.length;
  }

  /** Head and tail in one; `droppedAt` is the offset at which the tail begins where bytes were dropped. */
  finish(): { readonly output: Uint8Array; readonly droppedBytes: number; readonly droppedAt: number } {
    const head = this.#head.subarray(0, this.#headLength);
    const droppedBytes = Math.max(0, this.#tailTotal - tailBytes);
    const parts = this.#tail === null ? [head] : [head, ...this.#tailInOrder(this.#tail)];
    return { output: Buffer.concat(parts), droppedBytes, droppedAt: this.#headLength };
  }

  #tailInOrder(tail: Buffer): Buffer[] {
    if (this.#tailTotal <= tailBytes) return [tail.subarray(0, this.#tailTotal)];
    const at = this.#tailTotal % tailBytes;
    return [tail.subarray(at), tail.subarray(0, at)];
  }
}
