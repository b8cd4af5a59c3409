import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

type Parsed = readonly { readonly name: string; readonly file: ts.SourceFile }[];

const parse = (name: string, text: string) => ({
  name,
  file: ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true),
});

const folder = join(import.meta.dirname, "../src");
const sources = (): Parsed =>
  globSync("**/*.ts", { cwd: folder }).map((name) => parse(name, readFileSync(join(folder, name), "utf8")));

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

const isAsync = (node: ts.Node): boolean =>
  ts.canHaveModifiers(node) && (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword);

const isPromising = (node: ts.SignatureDeclaration): boolean =>
  isAsync(node) || node.type?.getText().startsWith("Promise<") === true;

/** The function that a named node is, holds or is typed as. */
function heldBy(node: ts.Node): ts.Node | undefined {
  if (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node)) return node.initializer;
  return ts.isPropertySignature(node) || ts.isParameter(node) ? node.type : node;
}

/** Whether what a name stands for in a file answers with a promise: functions, and what holds or is typed as one. */
function namesIn(file: ts.SourceFile): ReadonlyMap<string, boolean> {
  const names = new Map<string, boolean>();
  visit(file, (node) => {
    const { name } = node as { readonly name?: ts.Node };
    if (name === undefined) return;
    const held = heldBy(node);
    if (held !== undefined && ts.isFunctionLike(held)) names.set(name.getText(), isPromising(held));
  });
  return names;
}

const holdsSomething = (node: ts.Node): boolean =>
  ts.isBlock(node) &&
  node.statements.some(
    (statement) =>
      ts.isVariableStatement(statement) &&
      (statement.declarationList.flags & ts.NodeFlags.Using) === ts.NodeFlags.Using,
  );

/** The calls that may be what an expression comes to, without an `await`. */
function bareCalls(node: ts.Expression): readonly ts.CallExpression[] {
  if (ts.isParenthesizedExpression(node)) return bareCalls(node.expression);
  if (ts.isConditionalExpression(node)) return [...bareCalls(node.whenTrue), ...bareCalls(node.whenFalse)];
  if (ts.isBinaryExpression(node)) return [...bareCalls(node.left), ...bareCalls(node.right)];
  return ts.isCallExpression(node) ? [node] : [];
}

const calledName = ({ expression }: ts.CallExpression): string =>
  ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();

/** Promises that are handed on while what they need is disposed: `using` ends its hold where the `return` stands. */
function letGoTooEarly(parsed: Parsed): readonly string[] {
  const known = parsed.map(({ name, file }) => ({ name, file, own: namesIn(file) }));
  const all = new Set(["then", "catch", "finally"]);
  for (const { own } of known) for (const [name, is] of own) if (is) all.add(name);
  const found: string[] = [];
  const walk = ({ name, own }: Omit<(typeof known)[number], "file">, node: ts.Node, isHolding: boolean): void => {
    const holds = !ts.isFunctionLike(node) && (isHolding || holdsSomething(node));
    if (holds && ts.isReturnStatement(node) && node.expression !== undefined) {
      const isBare = bareCalls(node.expression).some((call) => own.get(calledName(call)) ?? all.has(calledName(call)));
      if (isBare) found.push(`${name}: ${node.getText().split("\n")[0]}`);
    }
    ts.forEachChild(node, (child) => walk({ name, own }, child, holds));
  };
  for (const one of known) walk(one, one.file, false);
  return found;
}

describe("what a function holds with `using`", () => {
  it("is held until the promise that the function answers with is settled", () => {
    expect(letGoTooEarly(sources())).toEqual([]);
  }, 120_000);

  it.each([
    ["a function", "async function f() { await using a = open(); return work(a); }"],
    ["an arrow function", "const f = async () => { using a = open(); return work(a); };"],
    ["a function that is not async", "function f() { using a = open(); return work(a); }"],
    ["a block", "async function f() { if (x) { await using a = open(); return work(a); } }"],
    ["a branch", "async function f() { await using a = open(); return x ? null : work(a); }"],
    ["a chain", "async function f() { await using a = open(); return read(a).then(String); }"],
  ])("is seen to be let go too early in %s", (_, text) => {
    expect(letGoTooEarly([parse("a.ts", `async function work() {} ${text}`)])).toHaveLength(1);
  });

  it("is not said to be let go where the promise is awaited, or belongs to an inner function", () => {
    const awaited = "async function f() { await using a = open(); return await work(a); }";
    const inner = "function f() { using a = open(); const g = () => { return work(); }; return [g]; }";

    expect(letGoTooEarly([parse("a.ts", `async function work() {} ${awaited} ${inner}`)])).toEqual([]);
  });
});
