import { type JsonAnswer, startJsonServer } from "./json-server.ts";

export interface GitlabReviews {
  baseUrl: string;
  /** Comments that people see, oldest first. */
  notes: { id: number; body: string; position?: Record<string, unknown> }[];
  /** Comments that only the account sees. */
  drafts: { id: number; note: string; position?: Record<string, unknown> }[];
  /** The states that reviews have given the account. */
  states: string[];
  approvals: unknown[];
  /** The request after this many others of the kind is executed, and the answer about it is lost. */
  loseAnswer(method: string, path: RegExp, after?: number): void;
  close(): Promise<void>;
}

interface Options {
  token: string;
  /** The newest commit. */
  head: string;
  diffs: object[];
  /** Servers from 19.2 on take a note and a state with the publication. */
  isOld?: boolean;
  refusesApproval?: boolean;
}

const ROOT = "/api/v4/projects/acme%2Fapp/merge_requests/12";
export const BASE = "b".repeat(40);
export const START = "c".repeat(40);

/**
 * The reviews of a merge request, from https://docs.gitlab.com/api/draft_notes/, https://docs.gitlab.com/api/merge_requests/
 * and https://docs.gitlab.com/api/merge_request_approvals/.
 */
export async function startGitlabReviews({
  token,
  head,
  diffs,
  isOld = false,
  refusesApproval = false,
}: Options): Promise<GitlabReviews> {
  const notes: GitlabReviews["notes"] = [];
  const drafts: GitlabReviews["drafts"] = [];
  const states: string[] = [];
  const approvals: unknown[] = [];
  let losing: { method: string; path: RegExp; after: number } | undefined;
  let last = 0;
  const nextId = (): number => (last += 1);
  const version = { id: 7, head_commit_sha: head, base_commit_sha: BASE, start_commit_sha: START };

  function publish({ note, reviewer_state: state }: Record<string, unknown>): JsonAnswer {
    for (const { note: body, position } of drafts.splice(0)) notes.push({ id: nextId(), body, position });
    if (!isOld && typeof note === "string") notes.push({ id: nextId(), body: note });
    if (!isOld && typeof state === "string") states.push(state);
    return { status: 204, body: undefined };
  }

  function approve(body: Record<string, unknown>): JsonAnswer {
    if (refusesApproval) return { status: 401, body: { message: "401 Unauthorized" } };
    if (body["sha"] !== head) return { status: 409, body: { message: "SHA does not match HEAD of source branch" } };
    approvals.push(body["sha"]);
    return { status: 201, body: {} };
  }

  function answer(method: string, path: string, body: Record<string, unknown>): JsonAnswer {
    const route = `${method} ${path}`;
    if (route === "GET /versions?per_page=100") return { status: 200, body: [version] };
    if (route === "GET /versions/7") return { status: 200, body: { ...version, diffs } };
    if (route === "GET /draft_notes?per_page=100") return { status: 200, body: drafts };
    if (route === "GET /notes?sort=desc&order_by=created_at&per_page=100") {
      return { status: 200, body: notes.toReversed().slice(0, 100) };
    }
    if (route === "POST /draft_notes/bulk_publish") return publish(body);
    if (route === "POST /approve") return approve(body);
    const { note, position, body: text } = body;
    if (route === "POST /draft_notes" && typeof note === "string") {
      const draft = { id: nextId(), note, position: position as Record<string, unknown> };
      drafts.push(draft);
      return { status: 201, body: draft };
    }
    if (route === "POST /notes" && typeof text === "string") {
      const written = { id: nextId(), body: text };
      notes.push(written);
      return { status: 201, body: written };
    }
    const deleted = /^DELETE \/draft_notes\/(\d+)$/.exec(route)?.[1];
    const at = drafts.findIndex(({ id }) => String(id) === deleted);
    if (at === -1) return { status: 404, body: { message: "404 Not found" } };
    drafts.splice(at, 1);
    return { status: 204, body: undefined };
  }

  const server = await startJsonServer(({ method = "", path = "", headers, body }) => {
    if (headers["private-token"] !== token) return { status: 401, body: { message: "401 Unauthorized" } };
    if (!path.startsWith(ROOT)) return { status: 404, body: { message: "404 Not found" } };
    const rest = path.slice(ROOT.length);
    const answered = answer(method, rest, body);
    if (!losing || method !== losing.method || !losing.path.test(rest)) return answered;
    if (losing.after-- > 0) return answered;
    losing = undefined;
    return "lost";
  });
  return {
    baseUrl: server.url,
    notes,
    drafts,
    states,
    approvals,
    loseAnswer: (method, path, after = 0) => void (losing = { method, path, after }),
    close: () => server.close(),
  };
}
