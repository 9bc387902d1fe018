import type { Pull, RepositoryHost } from "../../core/ports/repository.ts";
import type { NeutralizeOptions } from "../kit/comments/neutralize.ts";
import { type Call, type OpenApi, requireId } from "../kit/http.ts";
import { toGitAddress, toPull, toPullText } from "../kit/pulls.ts";

/** Merge requests of GitLab. https://docs.gitlab.com/api/merge_requests/ */
export function createGitlabPulls(
  open: OpenApi,
  { server, token, ...options }: NeutralizeOptions & { server: string; token: string },
): RepositoryHost {
  return {
    openGit: async (repository) => toGitAddress(server, repository, { user: "oauth2", token }),
    async findPull(repository, head, signal) {
      const call = await open(signal);
      const source = head.repository === repository ? undefined : await readProject(head.repository, call);
      const query = new URLSearchParams({
        source_branch: head.branch,
        state: "all",
        order_by: "created_at",
        sort: "desc",
        per_page: "30",
      });
      const { items = [] } = await call("GET", `${toPath(repository)}/merge_requests?${query.toString()}`);
      const found = items.find(
        (item) =>
          item["source_branch"] === head.branch &&
          String(item["source_project_id"]) === (source ?? String(item["target_project_id"])),
      );
      return found && readPull(repository, found);
    },
    async openPull(repository, pull, signal) {
      const call = await open(signal);
      const { title, text } = toPullText(pull, options);
      const { head, base } = pull;
      const target =
        head.repository === repository ? {} : { target_project_id: Number(await readProject(repository, call)) };
      const body = {
        source_branch: head.branch,
        target_branch: base,
        title: `Draft: ${title}`,
        description: text,
        ...target,
      };
      const answer = await call("POST", `${toPath(head.repository)}/merge_requests`, body);
      return readPull(repository, answer.body);
    },
  };
}

function toPath(repository: string): string {
  return `/projects/${encodeURIComponent(repository)}`;
}

async function readProject(repository: string, call: Call): Promise<string> {
  return requireId((await call("GET", toPath(repository))).body["id"], "GitLab");
}

function readPull(
  repository: string,
  { iid: number, web_url: url, state, sha: commit }: Record<string, unknown>,
): Pull {
  return toPull("GitLab", `${repository}!`, { number, url, isOpen: state === "opened", commit });
}
