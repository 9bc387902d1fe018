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
  /** Goes on after the end of its input. */
  stay(): void;
  /** Ends the process. */
  exit(): void;
}

export interface InnerPrograms {
  /** The command of a program that is given this word, if any. */
  command(...argument: string[]): [string, ...string[]];
  close(): void;
}

/** The last line: the input has ended. */
const END = "\u0004";

/** The process that is started ends after its input and what was written by then, as most programs do, and when `exit` is called. */
const SCRIPT = `exec 3<>"/dev/tcp/127.0.0.1/$0" 4<&0
echo "$$ $1" >&3
{ cat <&4; echo ${END}; } >&3 4<&4 &
exec cat <&3 4<&-`;

/** `run` is called for each process that starts. */
export async function serveInnerPrograms(run: (program: InnerProgram) => void): Promise<InnerPrograms> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)));
    // The program may be killed while it reads.
    const lines = createInterface({ input: socket }).on("error", () => {});
    socket.on("error", () => {});
    let stays = false;
    lines.on("line", (line) => line === END && !stays && socket.end());
    lines.once("line", (first) => {
      const [, pid = "", argument = ""] = /^(\d+) (.*)$/.exec(first) ?? [];
      run({
        pid,
        argument,
        onLine: (listener) => void lines.on("line", (line) => line !== END && listener(line)),
        write: (line) => void socket.write(`${line}\n`),
        stay: () => void (stays = true),
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
