import { signal } from "@preact/signals";
import type { EventTimeline as Timeline, OperatorAnswers } from "../views.ts";
import type { RunView } from "../work-views.ts";
import { forgetDrafts } from "./parts/draft.ts";
import { parseExactAt } from "../../core/shared/exact-json.ts";

export const access = signal<"open" | "closed">("closed");
/** Why there is a sign-in, where there was none. */
export const wasSignedOut = signal<string | undefined>(undefined);
/** The tabs of a browser are signed in and out together. */
const tabs = new BroadcastChannel("hookline access");
tabs.addEventListener("message", ({ data }: MessageEvent<string | undefined>) => setAccess(data));

/** `ended`: why the sign-in is over. */
function setAccess(ended: string | undefined): void {
  wasSignedOut.value = ended;
  access.value = ended === undefined ? "open" : "closed";
}

function changeAccess(ended: string | undefined): void {
  const isNew = access.value !== (ended === undefined ? "open" : "closed");
  setAccess(ended);
  if (isNew) tabs.postMessage(ended);
}

/** When the service was last heard of, in milliseconds since the epoch. */
export const answeredAt = signal(Date.now());

/** The parameters of a path and of its query; those without a value are left out. */
export type Params = Record<string, string | number | undefined>;

interface CallOptions {
  /** Default: an empty object. */
  body?: unknown;
  stop?: AbortSignal;
  /** The page is being left. */
  isLast?: boolean;
}

/** Calls the operator API. Rejects with the sentence of a 4xx or 5xx. */
export async function call<Endpoint extends keyof OperatorAnswers>(
  endpoint: Endpoint,
  params: Params = {},
  options: CallOptions = {},
): Promise<OperatorAnswers[Endpoint]> {
  const response = await send(endpoint, params, options);
  if (response.status === 401) {
    if (access.value === "open")
      changeAccess("Your sign-in has ended: it lasts 12 hours, or until the gateway token is replaced.");
    throw new Error("Signed out.");
  }
  // A trial that is refused says what is wrong, too.
  if (!response.ok && endpoint !== "POST /api/try") throw await toRefusal(response);
  // A replay that skips has no body.
  const text = response.status === 204 ? "{}" : await response.text();
  // The payload of an event keeps its long numbers as they came.
  return parseExactAt(text, ["request", "payload"]);
}

/** A call of the API as the service offers it. */
export interface Action {
  method: string;
  path: string;
  body?: object;
}

/** Does what an item of the inbox offers. */
export async function act({ method, path, body }: Action, isLast: boolean): Promise<void> {
  const response = await request(method, path, { body, isLast });
  if (!response.ok) throw await toRefusal(response);
}

/** The body of an event's request as it is stored. Bytes that are no UTF-8 are replaced. */
export async function readBody(id: string): Promise<string> {
  const response = await send("GET /api/events/:id/body", { id });
  if (!response.ok) throw await toRefusal(response);
  return response.text();
}

/** Trades the gateway token for the cookie that the browser then sends. Returns why it was refused. */
export async function signIn(token: string): Promise<string | undefined> {
  try {
    const response = await send("POST /api/session", {}, { body: { token } });
    if (!response.ok) return await readError(response);
    changeAccess(undefined);
    return undefined;
  } catch (error) {
    return String(Object(error).message);
  }
}

export async function signOut(): Promise<void> {
  await send("DELETE /api/session");
  forgetDrafts();
  changeAccess("You have signed out.");
}

function send(endpoint: keyof OperatorAnswers, params: Params = {}, options: CallOptions = {}): Promise<Response> {
  const [method = "", path = ""] = endpoint.split(" ");
  return request(method, fill(path, params), options);
}

async function request(method: string, path: string, { body = {}, stop, isLast }: CallOptions): Promise<Response> {
  const headers = { "content-type": "application/json" };
  const content = method === "GET" ? {} : { method, headers, body: JSON.stringify(body) };
  try {
    const response = await fetch(`.${path}`, { ...content, signal: stop, keepalive: isLast });
    answeredAt.value = Date.now();
    return response;
  } catch (cause) {
    throw stop?.aborted ? cause : new Error("The service does not answer.", { cause });
  }
}

async function toRefusal(response: Response): Promise<Error> {
  return new Error(await readError(response), { cause: response.status });
}

/** The status of the answer that refused a call. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof Error && typeof error.cause === "number" ? error.cause : undefined;
}

async function readError(response: Response): Promise<string> {
  const body: unknown = await response.json().catch(() => undefined);
  if (typeof body === "object" && body !== null && "error" in body && typeof body.error === "string") return body.error;
  return `The service answered ${response.status}.`;
}

/** `:name` of the path is taken from `params`, the others become the query. */
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

export type { ApprovalDetail, EventTimeline as Timeline, EventView, RecordingTimeline } from "../views.ts";
export type { OperatorAnswers, RunView };
export type { MappingSourceView as MappingSource, MappingView } from "../mapping-views.ts";
export type { ActivityView } from "../activity.ts";
export type { StatusView } from "../status.ts";
export type { Diff } from "../diff.ts";
export type { Trial } from "../trial.ts";
export type DeliveryView = OperatorAnswers["GET /api/deliveries"]["deliveries"][number];
export type FailedAttemptView = NonNullable<RunView["failedAttempts"]>[number];
export type RefusalView = OperatorAnswers["GET /api/rejections"]["rejections"][number];
export type InboxItem = OperatorAnswers["GET /api/inbox"]["items"][number];
export type SpendView = OperatorAnswers["GET /api/spend"]["spend"][number];
export type EntryView = Timeline["entries"][number];
export type MappingsView = OperatorAnswers["GET /api/mappings"];
