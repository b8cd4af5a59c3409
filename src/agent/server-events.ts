/**
 * The data of each event of a stream (WHATWG HTML, section 9.2.6), however its bytes are cut. `touch` hears of all bytes,
 * comments that only keep the connection alive included. An event without its closing blank line comes last, as it is.
 */
export async function* readServerEvents(body: AsyncIterable<Uint8Array>, touch: () => void): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of readLines(body, touch)) {
    const [, value] = /^data: ?(.*)$/su.exec(line) ?? [];
    if (value !== undefined) data.push(value);
    if (line !== "" || data.length === 0) continue;
    yield data.join("\n");
    data = [];
  }
  if (data.length > 0) yield data.join("\n");
}

/** However long a line is, each piece of it is looked at once. */
async function* readLines(body: AsyncIterable<Uint8Array>, touch: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let endedInReturn = false;
  for await (const bytes of body) {
    touch();
    const decoded = decoder.decode(bytes, { stream: true });
    if (decoded === "") continue;
    const text: string = endedInReturn && decoded.startsWith("\n") ? decoded.slice(1) : decoded; // the line has ended already
    endedInReturn = text.endsWith("\r");
    const [first = "", ...others] = text.split(/\r\n|\n|\r/);
    pieces.push(first);
    const last = others.pop();
    if (last === undefined) continue;
    yield pieces.join("");
    yield* others;
    pieces = [last];
  }
  yield pieces.join("");
}
