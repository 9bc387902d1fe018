import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { TOKEN } from "./ingress.ts";

/** A raw connection, for bytes that no HTTP client would send. */
export interface RawConnection {
  socket: Socket;
  write: (...pieces: (string | Buffer)[]) => void;
  /** Waits until the server closes the connection, and returns everything received. */
  closed: Promise<string>;
  /** Waits until the received data contains `text`. */
  reads: (text: string) => Promise<string>;
}

export function openRaw(port: number): RawConnection {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => void (text += chunk));
  // A reset by the server also ends the connection.
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return {
    socket,
    write: (...pieces) => pieces.forEach((piece) => socket.write(piece)),
    closed: new Promise((resolve) => socket.once("close", () => resolve(text))),
    reads: (wanted) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (text.includes(wanted)) resolve(text);
        };
        socket.on("data", check).once("close", () => reject(new Error(`closed before ${wanted}: ${text}`)));
        check();
      }),
  };
}

/** The head of a POST with the token. */
export function rawHead(path: string, ...headers: string[]): string {
  const lines = [`POST ${path} HTTP/1.1`, "Host: hookline.test", `Authorization: Bearer ${TOKEN}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** Status and body of each answer in the received data. */
export function parseAnswers(text: string): { status: number; body: { code?: string; ok?: boolean } }[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})[^]*?\r\n\r\n(\{[^]*?\})?(?=HTTP\/1\.1|$)/g)].map(([, status, body]) => ({
    status: Number(status),
    body: body === undefined ? {} : JSON.parse(body),
  }));
}
