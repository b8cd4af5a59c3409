import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type AppManifest, readAppManifest } from "../../src/app/app-manifest.ts";
import { checkApp, checkWebhook, requirePermissions } from "../../src/app/examine-github.ts";
import { neededPermissions } from "../../src/github/index.ts";

const manifest: AppManifest = await readAppManifest(join(import.meta.dirname, "../../app.yml"));
const facts = {
  id: 77,
  slug: "countersign",
  name: "Countersign",
  botUserId: 78,
  botLogin: "countersign[bot]",
  permissions: manifest.default_permissions,
  events: manifest.default_events,
};
const webhook = { url: "https://countersign.example.org/api/github/webhooks", contentType: "json", verifiesTls: true };

describe("the App that app.yml describes (SEC-117)", () => {
  it("asks for exactly what is needed", () => {
    expect(manifest.default_permissions).toEqual(neededPermissions);
  });
});

describe("the check of an App against app.yml", () => {
  it("holds for an App that was registered by it", () => {
    expect(checkApp(facts, manifest).map(({ ok }) => ok)).toEqual([true, true]);
  });

  it.each([
    [{ ...facts.permissions, contents: "read" }, "missing contents: write (granted: read)"],
    [
      { metadata: "read", contents: "write", issues: "write" },
      "missing checks: write (granted: none), pull_requests: write (granted: none)",
    ],
  ])("names each permission that is missing: %j", (permissions, detail) => {
    const [check] = checkApp({ ...facts, permissions }, manifest);

    expect(check).toMatchObject({ ok: false, detail });
  });

  it.each([
    [{ workflows: "write" }, "workflows: write"],
    [{ metadata: "write" }, "metadata: write"],
  ])("holds for more than is needed, and names it: %j", (more, detail) => {
    const [check] = checkApp({ ...facts, permissions: { ...facts.permissions, ...more } }, manifest);

    expect(check?.ok).toBe(true);
    expect(check?.detail).toContain(`; more than is needed: ${detail}`);
  });

  it("names each event that is not sent", () => {
    const [, check] = checkApp({ ...facts, events: ["issues"] }, manifest);

    expect(check).toMatchObject({ ok: false });
    expect(check?.detail).toContain("missing check_run, check_suite, issue_comment, pull_request,");
  });
});

describe("the start of the service (SEC-117)", () => {
  it("is refused to an App that lacks a permission", () => {
    const permissions = { ...facts.permissions, contents: "read" };

    expect(() => requirePermissions({ ...facts, permissions }, () => undefined)).toThrow(
      "App 77 lacks the permissions contents: write",
    );
  });

  it("names what the App may do beyond its need, and goes on", () => {
    const notices: string[] = [];
    const permissions = { ...facts.permissions, workflows: "write" };

    requirePermissions({ ...facts, permissions }, (line) => notices.push(line));
    requirePermissions(facts, (line) => notices.push(line));

    expect(notices).toEqual([
      "the App may do more than it needs: workflows: write; take that away in its settings on GitHub",
    ]);
  });
});

describe("the check of the webhook", () => {
  it("holds for JSON over verified TLS", () => {
    expect(checkWebhook(webhook)).toMatchObject({ ok: true, detail: webhook.url });
  });

  it.each([
    [{ url: null }, "no address is set"],
    [{ contentType: "form" }, `${webhook.url}; sent as \`form\`, not as json`],
    [{ verifiesTls: false }, `${webhook.url}; the certificate is not verified`],
  ])("names what is wrong: %j", (changed, detail) => {
    expect(checkWebhook({ ...webhook, ...changed })).toMatchObject({ ok: false, detail });
  });
});
