/**
 * GitHub's REST interface: the only calls to it.
 * Door: `convertManifest`.
 * Never: decides what may be written.
 */
export { convertManifest, type RegisteredApp } from "./register-app.ts";
