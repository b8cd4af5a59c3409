// Takes from GitHub's published OpenAPI description (npm `@octokit/openapi`, several hundred megabytes, hence no dependency) the
// schemas of those operations that the local GitHub answers, without prose, into test/fixtures/github-openapi.json.
// Usage: node scripts/github-schemas.mjs [folder of an installed @octokit/openapi]
// Without a folder it installs the package into a temporary one and removes it afterwards.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allRoutes } from "../src/demo/local-github/routes.ts";

const version = "23.0.2";
const target = new URL("../test/fixtures/github-openapi.json", import.meta.url);
/** Keywords that say something about values; the rest is prose, or formats that no test checks. */
const kept = new Set([
  "type",
  "enum",
  "required",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
]);
const lists = ["allOf", "anyOf", "oneOf"];

/** One place of the description wants an account to be a user and an enterprise at once; everywhere else it is one of them. */
const wordFor = (key, schema) =>
  key === "allOf" && schema.allOf.some((part) => part.title === "Enterprise") ? "anyOf" : key;

const given = process.argv[2];
const folder = given ?? install();
try {
  write(JSON.parse(readFileSync(join(folder, "generated/api.github.com.json"), "utf8")));
} finally {
  if (given === undefined) rmSync(join(folder, "../../.."), { recursive: true });
}

function install() {
  const place = mkdtempSync(join(tmpdir(), "github-openapi-"));
  writeFileSync(join(place, "package.json"), '{"private":true}');
  execFileSync("npm", ["install", "--no-save", "--ignore-scripts", `@octokit/openapi@${version}`], {
    cwd: place,
    stdio: "inherit",
  });
  return join(place, "node_modules/@octokit/openapi");
}

function write(description) {
  const schemas = {};
  const resolve = (value) =>
    value?.$ref === undefined
      ? value
      : value.$ref
          .split("/")
          .slice(1)
          .reduce((at, key) => at[key.replaceAll("~1", "/").replaceAll("~0", "~")], description);
  const strip = (schema) => bare(schema, { schemas, description, strip });
  const operations = {};
  for (const route of allRoutes()) {
    const path = route.kind === "repository" ? `/repos/{owner}/{repo}${route.path}` : route.path;
    const operation = description.paths[pathLike(description, path)]?.[route.method.toLowerCase()];
    if (operation === undefined) continue;
    const json = (part) => resolve(part)?.content?.["application/json"]?.schema;
    const request = json(operation.requestBody);
    const responses = Object.entries(operation.responses).map(([status, response]) => [status, json(response)]);
    operations[`${route.method} ${path}`] = {
      request: request === undefined ? null : strip(request),
      responses: Object.fromEntries(
        responses.map(([status, schema]) => [status, schema === undefined ? null : strip(schema)]),
      ),
    };
  }
  const text = JSON.stringify({
    source: `@octokit/openapi ${version}, api.github.com`,
    operations,
    components: { schemas },
  });
  writeFileSync(target, `${text}\n`);
  process.stdout.write(`${Object.keys(operations).length} operations, ${text.length} bytes\n`);
}

/** The description's path with the same places, whatever its parameters are called. */
function pathLike(description, path) {
  const shape = (text) => text.replaceAll(/\{\w+\}/g, "{}");
  return description.paths[path] === undefined
    ? Object.keys(description.paths).find((other) => shape(other) === shape(path))
    : path;
}

/** A schema in JSON Schema's words: `nullable` becomes a type of its own. Schemas that it names are taken along. */
function bare(schema, tools) {
  if (schema.$ref !== undefined) return named(schema.$ref, tools);
  const out = {};
  for (const [key, value] of Object.entries(schema)) if (kept.has(key)) out[key] = value;
  for (const key of lists) if (schema[key] !== undefined) out[wordFor(key, schema)] = schema[key].map(tools.strip);
  if (schema.items !== undefined) out.items = tools.strip(schema.items);
  if (schema.properties !== undefined)
    out.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, value]) => [key, tools.strip(value)]),
    );
  if (schema.additionalProperties !== undefined)
    out.additionalProperties =
      typeof schema.additionalProperties === "object"
        ? tools.strip(schema.additionalProperties)
        : schema.additionalProperties;
  return schema.nullable === true ? { anyOf: [out, { type: "null" }] } : out;
}

function named(ref, tools) {
  const name = ref.split("/").at(-1);
  if (tools.schemas[name] === undefined) {
    tools.schemas[name] = {};
    tools.schemas[name] = tools.strip(tools.description.components.schemas[name]);
  }
  return { $ref: `#/components/schemas/${name}` };
}
