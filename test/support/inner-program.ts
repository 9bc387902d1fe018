/**
 * Programs whose work is done in this process: a start of Node would take most of the CPU of their tests. What starts is a real
 * process with real pipes, which passes on what it reads and what it is given to write.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createInterface } from "node:readline";

export interface InnerProgram {
  pid: string;
  /** The last word of its command. */
  argument: string;
  onLine(listener: (line: string) => void): void;
  write(line: string): void;
  /** Ends the process. */
  exit(): void;
}

export interface InnerPrograms {
  /** The command of a program that is given this word, if any. */
  command(...argument: string[]): [string, ...string[]];
  close(): void;
}

/** The process that is started ends with its input, as most programs do, and when `exit` is called. */
const SCRIPT = `exec 3<>"/dev/tcp/127.0.0.1/$0" 4<&0
echo "$$ $1" >&3
{ cat <&4; kill "$$"; } >&3 4<&4 &
exec cat <&3 4<&-`;

/** `run` is called for each process that starts. */
export async function serveInnerPrograms(run: (program: InnerProgram) => void): Promise<InnerPrograms> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)));
    // The program may be killed while it reads.
    const lines = createInterface({ input: socket }).on("error", () => {});
    socket.on("error", () => {});
    lines.once("line", (first) => {
      const [, pid = "", argument = ""] = /^(\d+) (.*)$/.exec(first) ?? [];
      run({
        pid,
        argument,
        onLine: (listener) => void lines.on("line", listener),
        write: (line) => void socket.write(`${line}\n`),
        exit: () => void socket.end(),
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    // A bash whose input is a socket reads the user's settings.
    command: (...argument) => ["bash", "--norc", "-c", SCRIPT, String(port), ...argument],
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
