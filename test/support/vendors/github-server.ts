import { createEmulator } from "emulate";

export interface GithubServer {
  /** For `channels.github.baseUrl`. */
  baseUrl: string;
  /** The token of the account `agent`, which may write. */
  token: string;
  /** The token of the account `acme`, whose repository it is. */
  ownerToken: string;
  /** Its GitHub App, installed on `acme`. */
  app: { id: string; installation: string; key: string };
  /** `acme/app#<number>` of an issue that has no comments. */
  issue: string;
  /** Adds a pull request. Resolves to `acme/app#<number>`. */
  openPullRequest(): Promise<string>;
  /** The raw texts of the comments of an issue, oldest first. */
  comments(issue?: string): Promise<string[]>;
  /** Sends a request as the account `acme`, whose repository it is. */
  asPerson(method: string, path: string, body?: object): Promise<unknown>;
  close(): Promise<void>;
}

const OWNER_TOKEN = "ghp_acme-0000000";
const REPO = "/repos/acme/app";

/** Starts the GitHub of `emulate` on a free loopback port, with one repository and one issue. */
export async function startGithub({ privateKey }: { privateKey?: string } = {}): Promise<GithubServer> {
  const scopes = ["repo", "admin:repo_hook", "admin:org_hook"];
  const emulator = await createEmulator({
    service: "github",
    port: 0,
    seed: {
      tokens: { "ghp_agent-000000": { login: "agent", scopes }, [OWNER_TOKEN]: { login: "acme", scopes } },
      github: {
        users: [{ login: "agent" }, { login: "acme" }],
        orgs: [{ login: "acme-org", members: [{ login: "acme", role: "admin" }] }],
        repos: [{ owner: "acme", name: "app" }],
        ...(privateKey && {
          apps: [
            {
              app_id: 7,
              slug: "hooks",
              name: "Hooks",
              private_key: privateKey,
              permissions: { issues: "write", pull_requests: "write" },
              installations: [{ installation_id: 70, account: "acme", repository_selection: "all" }],
            },
          ],
        }),
      },
    },
  });
  const baseUrl = `http://127.0.0.1:${new URL(emulator.url).port}`;
  const asPerson = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${OWNER_TOKEN}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const { number } = toNumbered(await asPerson("POST", `${REPO}/issues`, { title: "It is slow" }));
  const issue = `acme/app#${number}`;
  return {
    baseUrl,
    token: "ghp_agent-000000",
    ownerToken: OWNER_TOKEN,
    app: { id: "7", installation: "70", key: privateKey ?? "" },
    issue,
    async openPullRequest() {
      const { object } = (await asPerson("GET", `${REPO}/git/ref/heads/main`)) as { object: { sha: string } };
      await asPerson("POST", `${REPO}/git/refs`, { ref: "refs/heads/fix", sha: object.sha });
      return `acme/app#${toNumbered(await asPerson("POST", `${REPO}/pulls`, { title: "Fix", head: "fix", base: "main" })).number}`;
    },
    async comments(of = issue) {
      const list = await asPerson("GET", `${REPO}/issues/${of.split("#")[1]}/comments?per_page=100`);
      return (list as { body: string }[]).map(({ body }) => body);
    },
    asPerson,
    close: () => emulator.close(),
  };
}

function toNumbered(value: unknown): { number: number } {
  return value as { number: number };
}
