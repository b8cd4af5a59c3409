type Step = { readonly kind: " " | "-" | "+"; readonly text: string };

/** Beyond this many differences the changed middle is shown as removed and added whole. */
const maxDifferences = 400;

/** A unified diff of two texts, without file names; empty where they are equal. */
export function diffLines(before: string, after: string, contextLines = 3): readonly string[] {
  const old = before.split("\n");
  const fresh = after.split("\n");
  const shorter = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < shorter && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const same = (text: string): Step => ({ kind: " ", text });
  const steps = [
    ...old.slice(0, head).map(same),
    ...middleSteps(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ];
  return hunks(steps, contextLines);
}

/** How far each diagonal was reached with fewer differences; `at` reads it by the diagonal's number. */
type Trace = { readonly reach: Int32Array; readonly limit: number };
const at = ({ reach, limit }: Trace, diagonal: number): number => reach[diagonal + limit + 1] ?? 0;

/** Whether the best way to a diagonal comes from the one above: by an added line rather than a removed one. */
const comesByAdding = (trace: Trace, diagonal: number, differences: number): boolean =>
  diagonal === -differences || (diagonal !== differences && at(trace, diagonal - 1) < at(trace, diagonal + 1));

/** Myers' greedy algorithm (An O(ND) Difference Algorithm, 1986), with its traces kept for the way back. */
function middleSteps(old: readonly string[], fresh: readonly string[]): readonly Step[] {
  const limit = Math.min(maxDifferences, old.length + fresh.length);
  const traces: Trace[] = [];
  const now: Trace = { reach: new Int32Array(2 * limit + 3), limit };
  for (let differences = 0; differences <= limit; differences += 1) {
    traces.push({ reach: now.reach.slice(), limit });
    for (let diagonal = -differences; diagonal <= differences; diagonal += 2) {
      const start = comesByAdding(now, diagonal, differences) ? at(now, diagonal + 1) : at(now, diagonal - 1) + 1;
      const x = alongEqualLines(old, fresh, start, start - diagonal);
      now.reach[diagonal + limit + 1] = x;
      if (x >= old.length && x - diagonal >= fresh.length) return wayBack(old, fresh, traces);
    }
  }
  return [...old.map((text): Step => ({ kind: "-", text })), ...fresh.map((text): Step => ({ kind: "+", text }))];
}

function alongEqualLines(old: readonly string[], fresh: readonly string[], fromX: number, fromY: number): number {
  let steps = 0;
  while (fromX + steps < old.length && fromY + steps < fresh.length && old[fromX + steps] === fresh[fromY + steps]) {
    steps += 1;
  }
  return fromX + steps;
}

function wayBack(old: readonly string[], fresh: readonly string[], traces: readonly Trace[]): readonly Step[] {
  const steps: Step[] = [];
  let x = old.length;
  let y = fresh.length;
  const backOverEqualLines = (toX: number, toY: number): void => {
    for (; x > toX && y > toY; x -= 1, y -= 1) steps.push({ kind: " ", text: old[x - 1] ?? "" });
  };
  for (const [differences, trace] of [...traces.entries()].slice(1).reverse()) {
    const isAdded = comesByAdding(trace, x - y, differences);
    const diagonal = isAdded ? x - y + 1 : x - y - 1;
    const fromX = at(trace, diagonal);
    const fromY = fromX - diagonal;
    backOverEqualLines(fromX, fromY);
    steps.push(isAdded ? { kind: "+", text: fresh[fromY] ?? "" } : { kind: "-", text: old[fromX] ?? "" });
    x = fromX;
    y = fromY;
  }
  backOverEqualLines(0, 0);
  return steps.reverse();
}

function hunks(steps: readonly Step[], contextLines: number): readonly string[] {
  const changed = steps.flatMap((step, index) => (step.kind === " " ? [] : [index]));
  const out: string[] = [];
  let oldLine = 1;
  let newLine = 1;
  let done = 0;
  const advance = (to: number): void => {
    for (const step of steps.slice(done, to)) {
      if (step.kind !== "+") oldLine += 1;
      if (step.kind !== "-") newLine += 1;
    }
    done = Math.max(done, to);
  };
  for (let index = 0; index < changed.length; ) {
    const from = Math.max(done, (changed[index] ?? 0) - contextLines);
    while (index + 1 < changed.length && (changed[index + 1] ?? 0) - (changed[index] ?? 0) <= 2 * contextLines)
      index += 1;
    const to = Math.min(steps.length, (changed[index] ?? 0) + contextLines + 1);
    advance(from);
    const part = steps.slice(from, to);
    const oldCount = part.filter((step) => step.kind !== "+").length;
    const newCount = part.filter((step) => step.kind !== "-").length;
    out.push(`@@ -${oldLine},${oldCount} +${newLine},${newCount} @@`, ...part.map((step) => step.kind + step.text));
    advance(to);
    index += 1;
  }
  return out;
}
