import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";

/** Debian's load generator takes a fifth of the CPU that the Node client takes, which leaves more to the server. */
const WRK = "/usr/bin/wrk";
export const LOAD_GENERATOR = existsSync(WRK) ? "wrk" : "the Node client";

export interface LoadResult {
  requests: number;
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Answers other than 2xx, and broken connections. */
  failed: number;
}

export interface LoadOptions {
  url: string;
  /** The credential. */
  headers: Record<string, string>;
  payload: string;
  connections: number;
  seconds: number;
}

/** Keeps connections busy for a while. Each sends its next request after the previous answer. */
export function load(options: LoadOptions): Promise<LoadResult> {
  return LOAD_GENERATOR === "wrk" ? loadByWrk(options) : loadByNode(options);
}

async function loadByWrk({ url, headers, payload, connections, seconds }: LoadOptions): Promise<LoadResult> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-wrk-"));
  const body = path.join(folder, "body");
  const script = path.join(folder, "load.lua");
  const lines = Object.entries({ ...headers, "content-type": "application/json" }).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  writeFileSync(body, payload);
  writeFileSync(
    script,
    `wrk.method = "POST"
${lines.join("\n")}
local file = io.open(${JSON.stringify(body)}, "rb")
wrk.body = file:read("*a")
file:close()
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), errors.status + errors.connect + errors.read + errors.write + errors.timeout))
end
`,
  );
  try {
    const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, url];
    const { stdout } = await promisify(execFile)(WRK, args);
    const figures = /RESULT (.*)/.exec(stdout)?.[1]?.split(" ").map(Number) ?? [];
    const [requests = 0, microseconds = 0, p50 = 0, p99 = 0, failed = 0] = figures;
    return { requests, perSecond: requests / (microseconds / 1e6), p50: p50 / 1000, p99: p99 / 1000, failed };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Ends after `requests` of them, if that is given. */
export async function loadByNode({
  url,
  headers,
  payload,
  connections,
  seconds,
  requests = Infinity,
}: LoadOptions & { requests?: number }): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const startedAt = performance.now();
  const deadline = startedAt + seconds * 1000;
  const latencies: number[] = [];
  let failed = 0;
  let left = requests;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < deadline && left-- > 0) {
        const sentAt = performance.now();
        const status = await post({ url, agent, headers, body: payload });
        if (status < 200 || status > 299) failed += 1;
        latencies.push(performance.now() - sentAt);
      }
    }),
  );
  const elapsed = (performance.now() - startedAt) / 1000;
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const percentile = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return {
    requests: latencies.length,
    perSecond: latencies.length / elapsed,
    p50: percentile(0.5),
    p99: percentile(0.99),
    failed,
  };
}

export interface Post {
  url: string;
  agent: Agent;
  headers: Record<string, string>;
  body: string | Buffer;
}

/** The status of the answer; 0: the connection broke. */
export function post({ url, agent, headers: credential, body }: Post): Promise<number> {
  return new Promise((resolve) => {
    const headers = {
      ...credential,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    request(url, { method: "POST", agent, headers }, (response) => {
      response.resume().on("close", () => resolve(response.statusCode ?? 0));
    })
      .on("error", () => resolve(0))
      .end(body);
  });
}
