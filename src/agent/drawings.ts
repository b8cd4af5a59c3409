/** What GitHub draws from its source: of the source itself people see nothing. */
export type Drawing = "diagram" | "formula";

/** In any case and with whatever follows: rather too much is taken for a drawing than too little. */
const drawn = /^\W*(?:(mermaid|geojson|topojson|stl)|math)(?![a-z0-9_])/i;

/** What GitHub makes of code in a language; null: it shows the code. */
export function drawingOf(language: string): Drawing | null {
  const found = drawn.exec(language);
  if (found === null) return null;
  return found[1] === undefined ? "formula" : "diagram";
}

/** Stands where people see a drawing, apart from what would make a link or a definition of it. */
export const standIn = (what: Drawing, following = ""): string => `[${what}]${/[([:]/.test(following) ? " " : ""}`;
