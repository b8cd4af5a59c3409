import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const folder = join(import.meta.dirname, "../src");

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

/** A call that records: an append to a ledger or spool, or a function that is named for it. */
function isRecording({ expression }: ts.CallExpression): boolean {
  if (ts.isIdentifier(expression)) return /^(record|settle|cancel)[A-Z]\w*$/.test(expression.text);
  if (!ts.isPropertyAccessExpression(expression)) return false;
  const receiver = expression.expression.getText();
  return (
    (expression.name.text === "append" && /(^|\.)(ledger|log)$/i.test(receiver)) ||
    (expression.name.text === "keep" && /(^|\.)spool$/.test(receiver))
  );
}

/** Whether a handler gets the error at all: one without a parameter can't have told it to anybody. */
const dropsError = (handler: ts.Expression | undefined): boolean =>
  handler !== undefined && ts.isFunctionLike(handler) && handler.parameters.length === 0;

/** What becomes of the promise: the outermost expression of its chain, and whether the chain drops its error. */
function chainOf(call: ts.Expression): { readonly end: ts.Node; readonly drops: boolean } {
  let end: ts.Expression = call;
  let drops = false;
  for (;;) {
    const access = end.parent;
    if (!ts.isPropertyAccessExpression(access) || access.expression !== end) break;
    const next = access.parent;
    if (!ts.isCallExpression(next)) break;
    if (access.name.text === "catch") drops ||= dropsError(next.arguments[0]);
    if (access.name.text === "then") drops ||= dropsError(next.arguments[1]);
    end = next;
  }
  return { end, drops };
}

/** Whether a `catch` around it, in its own function, forgets what was thrown. */
function isCaughtAndDropped(node: ts.Node): boolean {
  for (let at = node; !ts.isSourceFile(at) && !ts.isFunctionLike(at); at = at.parent) {
    const around = at.parent;
    if (!ts.isTryStatement(around) || around.tryBlock !== at || around.catchClause === undefined) continue;
    const name = around.catchClause.variableDeclaration?.name.getText();
    let isUsed = false;
    visit(around.catchClause.block, (inner) => {
      isUsed ||= ts.isIdentifier(inner) && inner.text === name;
    });
    if (!isUsed) return true;
  }
  return false;
}

/** Calls whose failure to record would reach nobody. */
function lostRecords(name: string, text: string): readonly string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  visit(file, (node) => {
    if (!ts.isCallExpression(node) || !isRecording(node)) return;
    const { end, drops } = chainOf(node);
    const isDiscarded = ts.isExpressionStatement(end.parent) || ts.isVoidExpression(end.parent);
    if (isDiscarded || drops || isCaughtAndDropped(node)) found.push(`${name}: ${node.getText().split("\n")[0]}`);
  });
  return found;
}

describe("every failure to record reaches its caller (AUD-55)", () => {
  it("in all of the source", () => {
    const names = globSync("**/*.ts", { cwd: folder });
    const found = names.flatMap((name) => lostRecords(name, readFileSync(join(folder, name), "utf8")));

    expect(names.length).toBeGreaterThan(300);
    expect(found).toEqual([]);
  });

  it.each([
    ["deps.ledger.append(null, batch);", "not awaited"],
    ["void deps.ledger.append(null, batch);", "thrown away"],
    ["await ledger.append(null, batch).catch(() => undefined);", "its error dropped"],
    ["await ledger.append(null, batch).then(done, () => null);", "its error dropped as a second handler"],
    ["try { await recordEnd(deps); } catch { tell(); }", "caught without a name"],
    ["try { await recordEnd(deps); } catch (error) { tell(); }", "caught and forgotten"],
    ["this.spool.keep(outcome).finally(done);", "a chain that nobody awaits"],
  ])("finds `%s`: %s", (text) => {
    expect(lostRecords("sample.ts", `async function sample() { ${text} }`)).toHaveLength(1);
  });

  it.each([
    "await deps.ledger.append(null, batch);",
    "return deps.ledger.append(null, batch);",
    "const entries = await ledger.append(null, batch);",
    "await ledger.append(null, batch).catch((error) => keepOutside(error));",
    "try { await recordEnd(deps); } catch (error) { throw asLedgerError(error); }",
    "list.append(item);",
  ])("lets `%s` be", (text) => {
    expect(lostRecords("sample.ts", `async function sample() { ${text} }`)).toEqual([]);
  });
});
