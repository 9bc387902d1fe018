import type { ResolvedConfig } from "../../config/types.ts";
import { messageOf } from "../../errors.ts";
import { silentLog } from "../../telemetry/log.ts";
import { type CheckResult, note, ok, problem } from "./result.ts";

const ANSWER_MS = 5000;
/** Signatures with a timestamp are usually refused after five minutes. */
const MAX_CLOCK_MS = 60_000;

/** The database and the public address, if there are any, and this machine's clock beside theirs. */
export async function checkRemote({ store, gateway: { publicUrl } }: ResolvedConfig): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  let clock: CheckResult | undefined;
  if (store.postgres) {
    const answer = await askDatabase(store.postgres.url);
    const next = "check store.url, that the database runs, and that it accepts this machine";
    if (answer instanceof Error) results.push(problem("store.url", answer.message, next));
    else {
      results.push(ok("database", "PostgreSQL answers"));
      clock = compareClock(answer, "the database");
    }
  }
  if (publicUrl !== undefined) {
    const answer = await askPublic(publicUrl);
    const next = "check the DNS name, the proxy and the firewall";
    if (answer instanceof Error) results.push(problem("gateway.publicUrl", answer.message, next));
    else clock ??= compareClock(answer, publicUrl);
  }
  const unchecked = "not compared: neither store.url nor gateway.publicUrl is set";
  return [...results, clock ?? note("clock", unchecked)];
}

/** Milliseconds by which a clock is ahead of this machine's, at the middle of the question. */
type Ahead = number;

export function compareClock(aheadMs: Ahead, whose: string): CheckResult {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) <= MAX_CLOCK_MS) return ok("clock", `within ${seconds + 1} s of that of ${whose}`);
  const message = `${seconds} s ${aheadMs > 0 ? "behind" : "ahead of"} that of ${whose}`;
  return problem("clock", message, "synchronise the machine's clock (NTP): signatures with a timestamp are refused");
}

async function askDatabase(url: string): Promise<Ahead | Error> {
  const { createDatabase } = await import("../../journal/postgres/database.ts");
  const database = createDatabase({ url, maxConnections: 1, commitTimeoutMs: ANSWER_MS, log: silentLog });
  try {
    return await compare(async () => {
      const row = await database.read((sql) => sql.get("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now"));
      return Number(row?.["now"]);
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    await database.close();
  }
}

async function askPublic(publicUrl: string): Promise<Ahead | Error> {
  try {
    return await compare(async () => {
      const response = await fetch(`${publicUrl}/healthz`, { method: "HEAD", signal: AbortSignal.timeout(ANSWER_MS) });
      // To the whole second: on average half of one is missing.
      return Date.parse(response.headers.get("date") ?? new Date().toUTCString()) + 500;
    });
  } catch (error) {
    return new Error(
      `no answer from ${publicUrl}: ${messageOf(error instanceof Error && error.cause ? error.cause : error)}`,
    );
  }
}

async function compare(ask: () => Promise<number>): Promise<Ahead> {
  const before = Date.now();
  const there = await ask();
  return there - (before + Date.now()) / 2;
}
