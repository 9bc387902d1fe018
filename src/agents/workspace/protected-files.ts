/** Files whose content tells an agent what to do, or what its tools may do. */
const OF_AGENTS = [
  "AGENTS.md",
  "AGENTS.override.md",
  "CLAUDE.md",
  "CLAUDE.local.md",
  "GEMINI.md",
  "QWEN.md",
  "CONVENTIONS.md",
  ".agents",
  ".aider*",
  ".claude",
  ".clinerules",
  ".codex",
  ".continue",
  ".cursor",
  ".cursorrules",
  ".gemini",
  ".github/copilot-instructions.md",
  ".github/instructions",
  ".mcp.json",
  ".opencode",
  ".qwen",
  ".windsurf",
  ".windsurfrules",
  "opencode.json",
  "opencode.jsonc",
];

/** Files that run elsewhere once it is in a branch, in ten services and on the machines of people. */
const OF_CI = [
  ".github",
  ".gitlab-ci.yml",
  ".gitea",
  ".forgejo",
  ".circleci",
  ".travis.yml",
  "azure-pipelines*",
  "bitbucket-pipelines.yml",
  "Jenkinsfile*",
  ".buildkite",
  ".drone*",
  ".woodpecker*",
  "appveyor.yml",
  ".appveyor.yml",
];

const OF_PEOPLE = ["CODEOWNERS", ".git*", ".npmrc", ".envrc", ".husky", ".vscode"];

/** The files that an `allow` does not cover, unless the configuration lists others. */
export const PROTECTED = [...OF_CI, ...OF_PEOPLE, ...OF_AGENTS].flatMap(anywhere);

/** Whether a file tells agents something. */
export const isForAgents = compilePaths(OF_AGENTS.flatMap(anywhere));

function anywhere(name: string): string[] {
  return [name, `*/${name}`];
}

/** An entry covers itself and what is below it, `*` is any characters, and case is ignored. */
export function compilePaths(entries: readonly string[]): (file: string) => boolean {
  const patterns = entries.map((entry) => {
    const parts = entry
      .replace(/\/+$/, "")
      .split("*")
      .map((part) => RegExp.escape(part));
    return new RegExp(`^${parts.join("[^]*")}(?:/|$)`, "i");
  });
  return (file) => patterns.some((pattern) => pattern.test(file));
}
