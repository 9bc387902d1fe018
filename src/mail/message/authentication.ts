import type { MailAuthentication } from "../../core/ports/mail-source.ts";
import { cleanLine } from "./text.ts";

const METHODS = ["spf", "dkim", "dmarc"] as const;
const MAX_SERVER_LENGTH = 255;

interface AuthenticationResults {
  /** In lower case; empty if the header names none, as Exchange Online's does. */
  server: string;
  /** In lower case. */
  results: [method: string, result: string][];
}

/** The server of Gmail, as it names itself in each mail that it receives. */
export const GOOGLE_AUTHSERV_ID = "mx.google.com";

/**
 * Reads Authentication-Results (RFC 8601) of the given server, by default of the topmost header, since a server prepends its
 * own and may write one for each method. Without any, and without a given server, Received-SPF (RFC 7208) counts. If no server is
 * given, the sender may have written them. The npm libraries verify mails, but cannot read earlier results.
 */
export function readAuthentication(
  headers: { results: string[]; receivedSpf: string },
  authservId: string | undefined,
): MailAuthentication {
  const reports = headers.results.map(parseResults);
  const server = authservId?.toLowerCase() ?? reports[0]?.server;
  const counting = reports.filter((report) => report.server === server);
  const forgeable = authservId === undefined ? ({ forgeable: true } as const) : undefined;
  if (counting.length > 0) {
    const found = METHODS.map((method) => [method, findResult(method, counting)]).filter(([, result]) => result);
    return { ...(server && { server }), ...Object.fromEntries(found), ...forgeable };
  }
  if (reports.length > 0 || !forgeable) return {};
  const spf = /^[a-z]{1,30}/i.exec(headers.receivedSpf)?.[0];
  return spf ? { spf: spf.toLowerCase(), ...forgeable } : {};
}

/** The result of the topmost header with this method. Of several signatures, one that passes is enough. */
function findResult(method: string, reports: AuthenticationResults[]): string | undefined {
  const results = reports
    .map((report) => report.results.filter(([name]) => name === method).map(([, result]) => result))
    .find((found) => found.length > 0);
  return results?.includes("pass") ? "pass" : results?.[0];
}

function parseResults(header: string): AuthenticationResults {
  const statements = splitStatements(header).map((statement) => cleanLine(statement));
  const results = statements.map(parseResult).filter((result) => result !== undefined);
  const [first = ""] = statements;
  // Exchange Online begins with a result instead of a server.
  const server = parseResult(first) ? "" : (first.split(" ")[0] ?? "");
  return { server: cleanLine(server, MAX_SERVER_LENGTH).toLowerCase(), results };
}

/** The parts between semicolons, without comments. Quoted text cannot look like a result. */
function splitStatements(header: string): string[] {
  const statements = [""];
  let depth = 0;
  let isQuoted = false;
  for (const [token] of header.matchAll(/\\.?|[()";]|[^\\()";]+/gs)) {
    if (depth > 0) depth += token === "(" ? 1 : token === ")" ? -1 : 0;
    else if (token === '"') isQuoted = !isQuoted;
    else if (token === "(" && !isQuoted) depth = 1;
    else if (token === ";" && !isQuoted) statements.push("");
    else statements.push(statements.pop() + (isQuoted ? token.replaceAll(/[\s=]/g, "_") : token));
  }
  return statements;
}

/** `dkim/1 = Pass header.d=example.com` */
function parseResult(statement: string): [method: string, result: string] | undefined {
  const [, method, result] = /^([a-z][a-z0-9-]*) ?(?:\/ ?\d+ ?)?= ?([a-z]{1,30})(?: |$)/i.exec(statement) ?? [];
  return method && result ? [method.toLowerCase(), result.toLowerCase()] : undefined;
}
