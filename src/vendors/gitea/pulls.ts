import type { Pull, RepositoryHost } from "../../core/ports/repository.ts";
import { toObject } from "../../core/shared/json.ts";
import type { NeutralizeOptions } from "../kit/comments/neutralize.ts";
import { readAll } from "../kit/hook-calls.ts";
import type { OpenApi } from "../kit/http.ts";
import { isFrom, toGitAddress, toHeadName, toPull, toPullText } from "../kit/pulls.ts";

/** A page of Gitea has 50 items at most. */
const PER_PAGE = 50;

/** Pull requests of Gitea and Forgejo: https://docs.gitea.com/api/, under "repository". Their list has no filter by branch. */
export function createGiteaPulls(
  open: OpenApi,
  { server, token, ...options }: NeutralizeOptions & { server: string; token: string },
): RepositoryHost {
  return {
    openGit: async (repository) => toGitAddress(server, repository, { user: "oauth2", token }),
    async findPull(repository, head, signal) {
      const call = await open(signal);
      const isOne = (item: Record<string, unknown>): boolean => {
        const { ref, repo } = toObject(item["head"]);
        return isFrom(head, ref, repo === null ? head.repository : toObject(repo)["full_name"]);
      };
      const [found] = await readAll(async (page = "1") => {
        const path = `/repos/${repository}/pulls?state=all&sort=recentupdate&limit=${PER_PAGE}&page=${page}`;
        const { items = [] } = await call("GET", path);
        const own = items.filter(isOne);
        return { items: own, next: own.length > 0 || items.length < PER_PAGE ? undefined : String(Number(page) + 1) };
      });
      return found && readPull(repository, found);
    },
    async openPull(repository, pull, signal) {
      const call = await open(signal);
      const { title, text } = toPullText(pull, options);
      const { head, base } = pull;
      const from = head.repository === repository ? head.branch : toHeadName(head);
      const body = { title: `WIP: ${title}`, body: text, head: from, base };
      return readPull(repository, (await call("POST", `/repos/${repository}/pulls`, body)).body);
    },
  };
}

function readPull(repository: string, { number, html_url: url, state, head }: Record<string, unknown>): Pull {
  const { sha: commit } = toObject(head);
  return toPull("Gitea", `${repository}#`, { number, url, isOpen: state === "open", commit });
}
