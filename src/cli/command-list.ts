import type { Command } from "commander";

/** An example of each command, which its help ends with. */
const EXAMPLES: Record<string, string> = {
  demo: "webhooks demo",
  init: "webhooks init --preset github --model ollama --yes",
  dev: "webhooks dev --tunnel --register",
  serve: "webhooks serve --config /etc/webhooks.json5",
  check: "webhooks check --strict --types",
  doctor: "webhooks doctor --json",
  try: "webhooks try status payload.json --header 'X-Event: push'",
  send: "webhooks send status transforms/status.samples/problem.json --wait",
  diff: "webhooks diff --config new.json5 --since 7d --fail-on failing",
  test: "webhooks test ci --update ci/failed",
  "transform new": "webhooks transform new ci --from-event last",
  types: "webhooks types --env-file .env.example",
  infer: "webhooks infer ci --since 30d --only schema > schemas/ci.json",
  "presets list": "webhooks presets list",
  "presets show": "webhooks presets show github",
  "presets enable": "webhooks presets enable github --register acme/shop --yes",
  "presets disable": "webhooks presets disable github --unregister",
  "presets verify": "webhooks presets verify github",
  "presets copy": "webhooks presets copy github",
  "token rotate": "webhooks token rotate default",
  "token drop": "webhooks token drop default --yes",
  "import openclaw": "webhooks import openclaw --print",
  "channels test": "webhooks channels test slack --to C0123456789",
  "subscriptions list": "webhooks subscriptions list",
  "subscriptions show": "webhooks subscriptions show sub_5d1f",
  "subscriptions end": "webhooks subscriptions end sub_5d1f",
  "subscriptions requests": "webhooks subscriptions requests --limit 20",
  "mcp setup": "webhooks mcp setup claude-code --url https://hooks.example.com",
  "tools list": "webhooks tools list",
  "tools show": "webhooks tools show tickets.create",
  "tools accept": "webhooks tools accept runbooks",
  inbox: "webhooks inbox",
  "approvals list": "webhooks approvals list",
  "approvals show": "webhooks approvals show 7f3k",
  "approvals approve": "webhooks approvals approve 7f3k",
  "approvals deny": "webhooks approvals deny 7f3k --reason 'Not on a Friday.'",
  "approvals settle": "webhooks approvals settle 7f3k --done OPS-7",
  "tools call": "webhooks tools call tickets.show --arguments '{\"id\":7}'",
  "mail setup": "webhooks mail setup --address ann@example.com",
  "mail run": "webhooks mail run --mailbox support",
  tail: "webhooks tail --hook ci --status failed",
  record: "webhooks record new-sender --to recorded",
  status: "webhooks status --json",
  reload: "webhooks reload",
  "events list": "webhooks events list --hook ci --since 1h",
  "events show": "webhooks events show --last",
  "events save": "webhooks events save last --to transforms/ci --name failed",
  "events replay": "webhooks events replay --hook ci --status failed --since 1h",
  "events catch-up": "webhooks events catch-up github --since 6h --dry-run",
  "events export": "webhooks events export --since 7d > events.ndjson",
  "sessions list": "webhooks sessions list --limit 10",
  "sessions show": "webhooks sessions show main",
  "runs list": "webhooks runs list --state failed",
  "runs show": "webhooks runs show 01a203fc-45d5-7a13-8e95-16865d04c3ab",
  "runs release": "webhooks runs release",
  "runs cancel": "webhooks runs cancel 01a203fc-45d5-7a13-8e95-16865d04c3ab",
  "hooks pause": "webhooks hooks pause github",
  "hooks resume": "webhooks hooks resume github",
  spend: "webhooks spend --since 7d --by model",
  rejections: "webhooks rejections --limit 10",
  "dead-letters list": "webhooks dead-letters list",
  "dead-letters groups": "webhooks dead-letters groups",
  "dead-letters retry": "webhooks dead-letters retry --all",
  "dead-letters drop": "webhooks dead-letters drop 01a203fc-45d5",
  bulk: "webhooks bulk retry --hook ci --since 1h --dry-run",
  backup: "webhooks backup /var/backups/webhooks.db",
  "store migrate": "webhooks store migrate --to postgres://hookline@db.example.com/hookline",
  completion: "webhooks completion bash > ~/.local/share/bash-completion/completions/webhooks",
};

/** The first words of all commands. */
export const COMMAND_NAMES = [...new Set(Object.keys(EXAMPLES).map((name) => name.split(" ")[0] ?? ""))];

/**
 * Whether a command only prints: it ends with 0 when nobody reads its output. The others change something, serve, or judge
 * something: they finish, and exit by their result.
 */
export function isReading(command: Command): boolean {
  const name = nameOf(command);
  return /(?:^| )(?:list|show)$/.test(name) || READING.has(name);
}

/** Besides every `list` and `show`. */
const READING = new Set([
  "infer",
  "subscriptions requests",
  "mcp setup",
  "tail",
  "inbox",
  "events export",
  "spend",
  "rejections",
  "dead-letters groups",
  "completion",
]);

/** `presets enable` */
export function nameOf(command: Command): string {
  const names = [command.name()];
  for (let parent = command.parent; parent?.parent; parent = parent.parent) names.unshift(parent.name());
  return names.join(" ");
}

export function exampleOf(command: Command): string | undefined {
  return Object.hasOwn(EXAMPLES, nameOf(command)) ? EXAMPLES[nameOf(command)] : undefined;
}

/** All commands below one. */
export function allCommands(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...allCommands(child)]);
}

/** The commands that do something, below one that groups them. */
export function leafCommands(command: Command): Command[] {
  return command.commands.length > 0 ? command.commands.flatMap(leafCommands) : [command];
}

export function addExamples(program: Command): void {
  for (const command of leafCommands(program)) {
    const example = exampleOf(command);
    if (example !== undefined) command.addHelpText("after", `\nExample:\n  ${example}`);
  }
}
