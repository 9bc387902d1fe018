import type { GitAddress, NewPull, Pull, PullHead } from "../../core/ports/repository.ts";
import { toMarkedText } from "./comments/comment.ts";
import { toHtmlMark } from "./comments/mark.ts";
import { neutralizePlain, type NeutralizeOptions } from "./comments/neutralize.ts";
import { PAGE_ADDRESS, requireId, toBasic } from "./http.ts";

/** The title and text of a pull request as the service takes them: without effects, and with the mark of the service. */
export function toPullText(
  { title, text, idempotencyKey, sign }: NewPull,
  options: NeutralizeOptions,
): { title: string; text: string } {
  const shown = toMarkedText(text, (neutral = "") => toHtmlMark({ idempotencyKey, sign }, neutral), options);
  return { title: neutralizePlain(title), text: shown };
}

/** A pull request as its service describes it. */
export interface FoundPull {
  number: unknown;
  url: unknown;
  isOpen: boolean;
  /** The newest commit of its branch. */
  commit: unknown;
}

export function toPull(service: string, place: string, { number, url, isOpen, commit }: FoundPull): Pull {
  return {
    to: `${place}${requireId(number, service, /^[1-9]\d{0,15}$/)}`,
    url: requireId(url, service, PAGE_ADDRESS),
    isOpen,
    ...(typeof commit === "string" && { commit }),
  };
}

/** Git sends a token as the password of any user. */
export function toGitAddress(
  server: string,
  repository: string,
  { user, token }: { user: string; token: string },
): GitAddress {
  return { url: `${server.replace(/\/+$/, "")}/${repository}.git`, authorization: toBasic(user, token) };
}

/** Whether a pull request is from this branch; `fullName`: of the repository with it. */
export function isFrom(head: PullHead, branch: unknown, fullName: unknown): boolean {
  return branch === head.branch && String(fullName).toLowerCase() === head.repository.toLowerCase();
}

/** https://docs.github.com/en/rest/pulls/pulls and Gitea's: the owner of a fork is in front of the branch. */
export function toHeadName({ repository, branch }: PullHead): string {
  return `${repository.split("/", 1)[0]}:${branch}`;
}
