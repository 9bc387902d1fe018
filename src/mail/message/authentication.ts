import type { MailAuthentication } from "../source.ts";
import { cleanLine } from "./text.ts";

const METHODS = ["spf", "dkim", "dmarc"] as const;
const MAX_SERVER_LENGTH = 255;

/** What one Authentication-Results header says. */
interface Report {
  /** In lower case; empty where the header names none, as Exchange Online's. */
  server: string;
  /** Every result of a method, in lower case. */
  results: [method: string, result: string][];
}

/**
 * What the headers of RFC 8601 say. Those of the server named count, else those of the topmost one: a server prepends its own, and may
 * write one for each method. Without any, and without a name to hold them to, Received-SPF of RFC 7208 does. There is no
 * library for it that reads without verifying as well.
 */
export function readAuthentication(
  headers: { results: string[]; receivedSpf: string },
  authservId: string | undefined,
): MailAuthentication {
  const reports = headers.results.map(parseReport);
  const server = authservId?.toLowerCase() ?? reports[0]?.server;
  const trusted = reports.filter((report) => report.server === server);
  if (trusted.length > 0) return toAuthentication(trusted, server);
  return reports.length === 0 && authservId === undefined ? fromReceivedSpf(headers.receivedSpf) : {};
}

function toAuthentication(reports: Report[], server: string | undefined): MailAuthentication {
  const found = METHODS.map((method) => [method, resultOf(method, reports)]).filter(([, result]) => result);
  return { ...(server && { server }), ...Object.fromEntries(found) };
}

/** That of the topmost header which speaks of it. A mail may bear several signatures: one that holds will do. */
function resultOf(method: string, reports: Report[]): string | undefined {
  const results = reports
    .map((report) => report.results.filter(([name]) => name === method).map(([, result]) => result))
    .find((found) => found.length > 0);
  return results?.includes("pass") ? "pass" : results?.[0];
}

function parseReport(header: string): Report {
  const statements = splitStatements(header).map((statement) => cleanLine(statement));
  const results = statements.map(toResult).filter((result) => result !== undefined);
  const [first = ""] = statements;
  // Exchange Online names no server, and begins with a result.
  const server = toResult(first) ? "" : (first.split(" ")[0] ?? "");
  return { server: cleanLine(server, MAX_SERVER_LENGTH).toLowerCase(), results };
}

/** The parts between semicolons, without comments. What stands in quotes cannot be taken for a result. */
function splitStatements(header: string): string[] {
  const statements: string[] = [];
  let statement = "";
  let depth = 0;
  let isQuoted = false;
  for (const [token] of header.matchAll(/\\.?|[()";]|[^\\()";]+/gs)) {
    if (depth > 0) depth += token === "(" ? 1 : token === ")" ? -1 : 0;
    else if (token === '"') isQuoted = !isQuoted;
    else if (isQuoted) statement += token.replaceAll(/[\s=]/g, "_");
    else if (token === "(") depth = 1;
    else if (token !== ";") statement += token;
    else {
      statements.push(statement);
      statement = "";
    }
  }
  return [...statements, statement];
}

/** `dkim/1 = Pass header.d=example.com` */
function toResult(statement: string): [method: string, result: string] | undefined {
  const [, method, result] = /^([a-z][a-z0-9-]*) ?(?:\/ ?\d+ ?)?= ?([a-z]{1,30})(?: |$)/i.exec(statement) ?? [];
  return method && result ? [method.toLowerCase(), result.toLowerCase()] : undefined;
}

function fromReceivedSpf(header: string): MailAuthentication {
  const result = /^[a-z]{1,30}/i.exec(header)?.[0];
  return result ? { spf: result.toLowerCase() } : {};
}
