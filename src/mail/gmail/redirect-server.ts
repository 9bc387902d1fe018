import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { sameSecret } from "../../config/secret.ts";
import { MailError } from "../../errors.ts";

/** Where the browser comes back to after a consent. */
export interface RedirectServer {
  uri: string;
  /** Resolves with the code that comes with this state. Rejects with a `MailError` where the consent was refused, or with the signal's reason. */
  waitForCode(state: string, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** Listens on a port of the loopback: 0 takes a free one. */
export async function startRedirectServer(port: number): Promise<RedirectServer> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    uri: `http://127.0.0.1:${portOf(server)}`,
    waitForCode: (state, signal) => waitForCode(server, state, signal),
    close() {
      server.close();
      server.closeIdleConnections();
    },
  };
}

function waitForCode(server: Server, state: string, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  if (signal.aborted) reject(signal.reason);
  server.on("request", (request, response) => {
    const { status, words, code, refusal } = judge(request, state);
    response
      .writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" })
      .end(words);
    if (code) resolve(code);
    if (refusal) reject(refusal);
  });
  return promise;
}

interface Verdict {
  status: number;
  /** For the person in front of the browser. */
  words: string;
  code?: string;
  refusal?: MailError;
}

function judge({ url = "" }: IncomingMessage, state: string): Verdict {
  const query = URL.parse(url, "http://127.0.0.1")?.searchParams;
  // Whoever else knows the port knows no state.
  if (!sameSecret(query?.get("state") ?? "", state)) {
    return { status: 400, words: "This is not the page that was asked for." };
  }
  const code = query?.get("code");
  if (code) return { status: 200, words: "Done. You can close this page.", code };
  const refusal = new MailError("login", `The consent was not given: ${toName(query?.get("error"))}.`);
  return { status: 200, words: "The consent was not given. You can close this page.", refusal };
}

/** `access_denied`: whatever else the browser may bring does not get through. */
function toName(error: string | null | undefined): string {
  return /^\w{1,40}$/.exec(error ?? "")?.[0] ?? "no reason given";
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}
