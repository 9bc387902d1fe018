import type { Pull, RepositoryHost } from "../../core/ports/repository.ts";
import { toObject } from "../../core/shared/json.ts";
import type { NeutralizeOptions } from "../kit/comments/neutralize.ts";
import { isSuccess, type OpenApi } from "../kit/http.ts";
import { isFrom, toGitAddress, toHeadName, toPull, toPullText } from "../kit/pulls.ts";
import { toReason, toServer } from "./client.ts";

/** Pull requests of GitHub. https://docs.github.com/en/rest/pulls/pulls */
export function createGithubPulls(
  open: OpenApi,
  { baseUrl, ...options }: NeutralizeOptions & { baseUrl?: string },
): RepositoryHost {
  return {
    async openGit(repository, signal) {
      const { headers } = await open.authorize(repository, signal);
      const token = (headers["authorization"] ?? "").replace(/^Bearer /, "");
      return toGitAddress(toServer(baseUrl), repository, { user: "x-access-token", token });
    },
    async findPull(repository, head, signal) {
      const call = await open(signal, repository);
      const query = new URLSearchParams({
        head: toHeadName(head),
        state: "all",
        sort: "created",
        direction: "desc",
        per_page: "30",
      });
      const { items = [] } = await call("GET", `/repos/${repository}/pulls?${query.toString()}`);
      const found = items.find((item) => {
        const { ref, repo } = toObject(item["head"]);
        // A repository that was deleted has no name any more.
        return isFrom(head, ref, repo === null ? head.repository : toObject(repo)["full_name"]);
      });
      return found && readPull(repository, found);
    },
    async openPull(repository, pull, signal) {
      const call = await open(signal, repository);
      const { title, text } = toPullText(pull, options);
      const { head, base } = pull;
      const body = {
        title,
        body: text,
        head: toHeadName(head),
        base,
        draft: true,
        ...(head.repository !== repository && { head_repo: head.repository.split("/")[1] }),
      };
      const answer = await call("POST", `/repos/${repository}/pulls`, body, [422]);
      if (isSuccess(answer)) return readPull(repository, answer.body);
      const isNoDraft = /draft/i.test(toReason(answer));
      const again = await call("POST", `/repos/${repository}/pulls`, { ...body, draft: !isNoDraft });
      const warnings = isNoDraft ? [`${repository} takes no drafts: the pull request is none.`] : [];
      return { ...readPull(repository, again.body), warnings };
    },
  };
}

function readPull(repository: string, { number, html_url: url, state, head }: Record<string, unknown>): Pull {
  const { sha: commit } = toObject(head);
  return toPull("GitHub", `${repository}#`, { number, url, isOpen: state === "open", commit });
}
