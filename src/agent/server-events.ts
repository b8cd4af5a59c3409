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

async function* readLines(body: AsyncIterable<Uint8Array>, touch: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of body) {
    touch();
    rest += decoder.decode(bytes, { stream: true });
    const isHalfEnd = rest.endsWith("\r"); // a line feed may follow
    const lines = (isHalfEnd ? rest.slice(0, -1) : rest).split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? "") + (isHalfEnd ? "\r" : "");
    yield* lines;
  }
  yield* rest.split("\r");
}
