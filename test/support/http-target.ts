import type { IncomingHttpHeaders } from "node:http";
import { createVerifier, toRequest } from "./signatures.ts";
import { startJsonServer } from "./json-server.ts";

export const TARGET_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

interface Posted {
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** The verdict of the scheme `standard-webhooks`. */
  signature: unknown;
}

/** An endpoint that takes every POST, but for the path `/gone`. */
export interface HttpTarget {
  /** With a final slash. */
  url: string;
  /** The requests so far, oldest first. */
  posted(): Promise<Posted[]>;
  /** The next requests get this status. */
  answerWith(status: number): void;
  close(): Promise<void>;
}

export async function startHttpTarget(secret: string = TARGET_SECRET): Promise<HttpTarget> {
  const verifier = await createVerifier("standard-webhooks", { secret });
  const posted: Promise<Posted>[] = [];
  let status = 200;
  const { url, close } = await startJsonServer((request) => {
    if (request.path === "/gone") return { status: 404, body: { message: "no such hook" } };
    if (status < 300) posted.push(record(request));
    return { status, body: undefined };
  });
  return { url, close, posted: () => Promise.all(posted), answerWith: (next) => void (status = next) };

  async function record({ path, headers, body, text }: Received): Promise<Posted> {
    const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
    const signed = toRequest({ headers: pairs, body: text, receivedAt: Date.now() });
    return { path, headers, body, signature: await verifier.verify(signed) };
  }
}

interface Received {
  path: string | undefined;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  text: string;
}
