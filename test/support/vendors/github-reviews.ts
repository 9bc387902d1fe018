import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { parsePatch } from "diff";
import type { GithubServer } from "./github-server.ts";

/** A pull request as a review sees it. */
export interface ReviewedPull {
  number: number;
  base: string;
  head: string;
  author: string;
  /** By commit: what its files' patches are. */
  diffs: Record<string, { filename: string; previous_filename?: string; patch?: string }[]>;
}

interface WrittenReview {
  id: number;
  body: string;
  commit_id: string;
  event: string;
  comments: { path: string; line: number; side: string; start_line?: number; start_side?: string; body: string }[];
}

export interface GithubReviews {
  baseUrl: string;
  reviews: WrittenReview[];
  /** The refused reviews: their verdicts. */
  refused: string[];
  /** The next review is written, and the answer about it is lost. */
  loseAnswer(): void;
  /** Adds a review of a person. */
  write(body: string): void;
  close(): Promise<void>;
}

interface Answer {
  status: number;
  body: unknown;
  link?: string;
}

/**
 * Reviews with comments on lines, which the emulator does not know, in front of it: all other requests go there. Written
 * from https://docs.github.com/en/rest/pulls/reviews and https://docs.github.com/en/rest/commits/commits#compare-two-commits.
 */
export async function startGithubReviews(
  github: Pick<GithubServer, "baseUrl" | "token">,
  pull: ReviewedPull,
): Promise<GithubReviews> {
  const reviews: WrittenReview[] = [];
  const refused: string[] = [];
  let isLosing = false;
  const path = `/repos/acme/app/pulls/${pull.number}`;
  const compare = `/repos/acme/app/compare/${pull.base}...`;

  function write(review: Omit<WrittenReview, "id">): WrittenReview {
    const written = { ...review, id: reviews.length + 1 };
    reviews.push(written);
    return written;
  }

  function toReview({ id, body }: WrittenReview): object {
    return { id, body, html_url: `https://github.com/acme/app/pull/${pull.number}#pullrequestreview-${id}` };
  }

  function addReview(given: WrittenReview): Answer | "lost" {
    const refusal = findRefusal(given, pull);
    if (refusal !== undefined) {
      refused.push(given.event);
      return { status: 422, body: { message: "Unprocessable Entity", errors: [refusal] } };
    }
    const written = write(given);
    if (!isLosing) return { status: 200, body: toReview(written) };
    isLosing = false;
    return "lost";
  }

  function toDiff(): string {
    const files = pull.diffs[pull.head] ?? [];
    return files.map(({ filename, patch }) => `--- a/${filename}\n+++ b/${filename}\n${patch}\n`).join("");
  }

  function answer(method: string, url: string, body: string): Answer | "lost" | undefined {
    const { pathname, searchParams } = new URL(url, "http://localhost");
    if (pathname.startsWith(compare)) {
      const files = pull.diffs[pathname.slice(compare.length)];
      return files ? { status: 200, body: { files } } : { status: 404, body: { message: "Not Found" } };
    }
    const size = Number(searchParams.get("per_page") ?? 30);
    const from = (Number(searchParams.get("page") ?? 1) - 1) * size;
    if (pathname === `${path}/files`)
      return { status: 200, body: pull.diffs[pull.head]?.slice(from, from + size) ?? [] };
    if (pathname === path) return { status: 200, body: { head: { sha: pull.head }, base: { sha: pull.base } } };
    if (pathname !== `${path}/reviews`) return undefined;
    if (method === "POST") return addReview(JSON.parse(body));
    const last = `<http://localhost${path}/reviews?per_page=${size}&page=${Math.ceil(reviews.length / size)}>; rel="last"`;
    const link = reviews.length > size ? last : undefined;
    return { status: 200, body: reviews.slice(from, from + size).map(toReview), link };
  }

  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const body = await text(request);
    const own =
      headers.authorization === `Bearer ${github.token}`
        ? answer(method, url, body)
        : { status: 401, body: { message: "Bad credentials" } };
    if (own === "lost") {
      request.socket.destroy();
      return;
    }
    if (url === path && headers.accept === "application/vnd.github.diff") {
      response.end(toDiff());
      return;
    }
    if (own) {
      const type = { "content-type": "application/json", ...(own.link && { link: own.link }) };
      response.writeHead(own.status, type).end(JSON.stringify(own.body));
      return;
    }
    const { authorization = "", "content-type": type = "application/json" } = headers;
    const passed = await fetch(`${github.baseUrl}${url}`, {
      method,
      headers: { authorization, "content-type": type },
      ...(body && { body }),
    });
    response.writeHead(passed.status, { "content-type": "application/json" }).end(await passed.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    baseUrl: `http://127.0.0.1:${address.port}`,
    reviews,
    refused,
    loseAnswer: () => void (isLosing = true),
    write: (body) => void write({ body, commit_id: pull.head, event: "COMMENT", comments: [] }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** GitHub refuses a review as a whole. */
function findRefusal({ body, event, commit_id: commit, comments }: WrittenReview, pull: ReviewedPull) {
  const files = pull.diffs[commit];
  if (!files) return "commit_id is not part of the pull request";
  if (!body.trim() && event !== "APPROVE") return "body is missing";
  if (event === "APPROVE" && pull.author === "agent") return "Can not approve your own pull request";
  if (event === "REQUEST_CHANGES" && pull.author === "agent") return "Can not request changes on your own pull request";
  const isOutside = comments.some(({ path, line, side, start_line: first = line, start_side: firstSide = side }) => {
    const patch = files.find(({ filename }) => filename === path)?.patch ?? "";
    const hunks = parsePatch(patch).flatMap((file) => file.hunks);
    return !hunks.some((hunk) => {
      const lines = hunk.lines.map((_, at) => numbersAt(hunk, at));
      return [
        [line, side],
        [first, firstSide],
      ].every(([number, on]) => lines.some((numbers) => numbers[on === "LEFT" ? "left" : "right"] === number));
    });
  });
  return isOutside ? "Line could not be resolved" : undefined;
}

/** The numbers of a line of a hunk, as far as it is in the old and in the new file. */
function numbersAt({ oldStart, newStart, lines }: { oldStart: number; newStart: number; lines: string[] }, at: number) {
  const before = lines.slice(0, at);
  const count = (other: string): number => before.filter((line) => line[0] === " " || line[0] === other).length;
  const kind = lines[at]?.[0];
  return {
    left: kind === "+" ? undefined : oldStart + count("-"),
    right: kind === "-" ? undefined : newStart + count("+"),
  };
}
