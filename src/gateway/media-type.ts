/** What content is by its first bytes; a name says nothing (ACI-30). */
const signatures: readonly { readonly mediaType: string; readonly bytes: readonly number[] }[] = [
  { mediaType: "image/png", bytes: [0x89, 0x50, 0x4e, 0x47] },
  { mediaType: "image/jpeg", bytes: [0xff, 0xd8, 0xff] },
  { mediaType: "image/gif", bytes: [0x47, 0x49, 0x46, 0x38] },
  { mediaType: "image/webp", bytes: [0x52, 0x49, 0x46, 0x46] },
  { mediaType: "application/pdf", bytes: [0x25, 0x50, 0x44, 0x46] },
  { mediaType: "application/zip", bytes: [0x50, 0x4b, 0x03, 0x04] },
  { mediaType: "application/gzip", bytes: [0x1f, 0x8b] },
  { mediaType: "application/x-executable", bytes: [0x7f, 0x45, 0x4c, 0x46] },
  { mediaType: "application/wasm", bytes: [0x00, 0x61, 0x73, 0x6d] },
];

export function mediaTypeOf(bytes: Uint8Array): string {
  const match = signatures.find((signature) => signature.bytes.every((byte, at) => bytes[at] === byte));
  return match?.mediaType ?? "application/octet-stream";
}
