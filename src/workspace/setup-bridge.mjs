// Setup's way out, inside its sandbox: from a port of the loopback device to the host's proxy, on one unix socket (SEC-66).
// It starts the command and ends with it, so that the port is there before the first connection and gone after the last.
import { spawn } from "node:child_process";
import { createConnection, createServer } from "node:net";
import { constants } from "node:os";

const [socket, port, program, ...argv] = process.argv.slice(2);

process.on("SIGTERM", () => {}); // meant for the command too, whose end is what counts

const server = createServer({ allowHalfOpen: true }, (inside) => {
  const outside = createConnection({ path: socket, allowHalfOpen: true });
  for (const [from, to] of [
    [inside, outside],
    [outside, inside],
  ]) {
    from.on("error", () => from.destroy());
    from.on("close", () => to.destroySoon());
    from.pipe(to);
  }
});

server.listen(Number(port), "127.0.0.1", () => {
  const command = spawn(program, argv, { stdio: "inherit" });
  command.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
});
