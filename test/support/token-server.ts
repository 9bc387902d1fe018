import { onTestFinished } from "vitest";
import { type JsonAnswer, startJsonServer } from "./json-server.ts";

export interface TokenServer {
  tokenUrl: string;
  /** Oldest first. */
  requests: Record<string, unknown>[];
}

/** A token endpoint (RFC 6749, 3.2) that returns these answers, then repeats the last one. Closed after the test. */
export async function startTokenServer(...answers: (JsonAnswer | object)[]): Promise<TokenServer> {
  const requests: Record<string, unknown>[] = [];
  const { url, close } = await startJsonServer(({ body }) => {
    const answer = answers[Math.min(requests.push(body), answers.length) - 1] ?? {};
    return "status" in answer ? (answer as JsonAnswer) : { status: 200, body: { token_type: "Bearer", ...answer } };
  });
  onTestFinished(close);
  return { tokenUrl: `${url}token`, requests };
}
