import { signal } from "@preact/signals";
import type { OperatorAnswers } from "../operator/views.ts";

/** unknown: nothing was asked yet. */
export const access = signal<"unknown" | "open" | "closed">("unknown");

type Routes<Method extends string> = {
  [Route in keyof OperatorAnswers as Route extends `${Method} ${infer Path}` ? Path : never]: OperatorAnswers[Route];
};
type Answer<Method extends string, Path extends keyof Routes<Method>> = Routes<Method>[Path];

/** A 4xx or 5xx, with the sentence of its answer. */
class ApiError extends Error {
  override name = "ApiError";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export type Params = Record<string, string | number | undefined>;

/** `:name` of the path is taken from `params`, the others become the query. */
export function get<Path extends keyof Routes<"GET">>(path: Path, params: Params = {}): Promise<Answer<"GET", Path>> {
  return ask(fill(path, params), {});
}

export function post<Path extends keyof Routes<"POST">>(
  path: Path,
  params: Params = {},
  { body, stop }: { body?: unknown; stop?: AbortSignal } = {},
): Promise<Answer<"POST", Path>> {
  const headers = { "content-type": "application/json" };
  return ask(fill(path, params), { method: "POST", headers, signal: stop, body: JSON.stringify(body ?? {}) });
}

export function remove<Path extends keyof Routes<"DELETE">>(
  path: Path,
  params: Params = {},
): Promise<Answer<"DELETE", Path>> {
  const headers = { "content-type": "application/json" };
  return ask(fill(path, params), { method: "DELETE", headers, body: "{}" });
}

/** Trades the gateway token for the cookie that the browser then sends. Returns why it was refused. */
export async function signIn(token: string): Promise<string | undefined> {
  const response = await fetch("./api/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  if (response.ok) access.value = "open";
  return response.ok ? undefined : messageOf(response);
}

export async function signOut(): Promise<void> {
  await fetch("./api/session", { method: "DELETE", headers: { "content-type": "application/json" }, body: "{}" });
  access.value = "closed";
}

/** An answer that is expected to say what is wrong, such as that of a trial, resolves whatever its status. */
async function ask<Result>(path: string, init: RequestInit): Promise<Result> {
  const response = await fetch(`.${path}`, init);
  if (response.status === 401) {
    access.value = "closed";
    throw new ApiError(401, "Signed out.");
  }
  access.value = "open";
  if (!response.ok && !path.startsWith("/api/try")) throw new ApiError(response.status, await messageOf(response));
  // A replay that skips has no body.
  return response.status === 204 ? JSON.parse("{}") : response.json();
}

async function messageOf(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => undefined);
  if (typeof body === "object" && body !== null && "error" in body && typeof body.error === "string") return body.error;
  return `The service answered ${response.status}.`;
}

function fill(path: string, params: Params): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === "") continue;
    const pattern = new RegExp(`:${name}\\b\\*?`);
    if (pattern.test(filled)) filled = filled.replace(pattern, () => encodeURIComponent(value));
    else query.set(name, String(value));
  }
  return query.size > 0 ? `${filled}?${query}` : filled;
}

export type EventView = Routes<"GET">["/api/events"]["events"][number];
export type Timeline = Routes<"GET">["/api/events/:id"];
export type RunView = Routes<"GET">["/api/runs"]["runs"][number];
export type DeliveryView = Routes<"GET">["/api/deliveries"]["deliveries"][number];
export type RefusalView = Routes<"GET">["/api/rejections"]["rejections"][number];
export type DeadLetterView = Routes<"GET">["/api/dead-letters"]["deadLetters"][number];
export type StatusView = Routes<"GET">["/api/status"];
export type EntryView = Timeline["entries"][number];
export type MappingSource = Routes<"GET">["/api/mappings/:id/source"];
export type Trial = Routes<"POST">["/api/try"];
export type StatsView = Routes<"GET">["/api/stats"];
export type MappingView = Routes<"GET">["/api/mappings"]["mappings"][number];
export type Diff = Routes<"POST">["/api/diff"];
