import { Agent, request } from "node:http";

const CONNECTIONS = 16;

export interface LoadResult {
  requests: number;
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Answers other than 2xx, and broken connections. */
  failed: number;
}

/** Keeps 16 connections busy for a while. Each sends its next request after the previous answer. */
export async function load(options: {
  url: string;
  /** The credential. */
  headers: Record<string, string>;
  payload: string;
  seconds: number;
}): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const startedAt = performance.now();
  const deadline = startedAt + options.seconds * 1000;
  const latencies: number[] = [];
  let failed = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() < deadline) {
        const sentAt = performance.now();
        if (!(await send(agent, options))) failed += 1;
        latencies.push(performance.now() - sentAt);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const percentile = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return {
    requests: latencies.length,
    perSecond: latencies.length / seconds,
    p50: percentile(0.5),
    p99: percentile(0.99),
    failed,
  };
}

function send(
  agent: Agent,
  { url, headers: credential, payload }: { url: string; headers: Record<string, string>; payload: string },
): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = {
      ...credential,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(payload),
    };
    request(url, { method: "POST", agent, headers }, (response) => {
      const { statusCode = 0 } = response;
      response.resume().on("end", () => resolve(statusCode >= 200 && statusCode < 300));
    })
      .on("error", () => resolve(false))
      .end(payload);
  });
}
