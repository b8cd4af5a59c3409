import { type Logger, pino } from "pino";
import type { LogLevel } from "./config.ts";

export type { Logger };

/** The operator's diary, on standard error: static messages with fields; secrets are taken out by path. */
export function createLogger(level: LogLevel): Logger {
  const redact = ["*.apiKey", "*.password", "*.token", "*.authorization", "headers.authorization"];
  return pino({ level, redact, base: null }, pino.destination({ dest: 2, sync: true }));
}
