import type { Command } from "commander";

/** An example of each command, which its help ends with. */
const EXAMPLES: Record<string, string> = {
  demo: "npx hookline demo",
  init: "npx hookline init --preset github --model ollama --yes",
  dev: "npx hookline dev --tunnel --register",
  serve: "npx hookline serve --config /etc/webhooks.json5",
  check: "npx hookline check --strict --types",
  doctor: "npx hookline doctor --json",
  try: "npx hookline try status payload.json --header 'X-Event: push'",
  send: "npx hookline send status transforms/status.samples/problem.json --wait",
  diff: "npx hookline diff --config new.json5 --since 7d --fail-on failing",
  test: "npx hookline test ci --update ci/failed",
  "transform new": "npx hookline transform new ci --from-event last",
  types: "npx hookline types --env-file .env.example",
  infer: "npx hookline infer ci --since 30d --only schema > schemas/ci.json",
  "presets list": "npx hookline presets list",
  "presets show": "npx hookline presets show github",
  "presets enable": "npx hookline presets enable github --register acme/shop --yes",
  "presets disable": "npx hookline presets disable github --unregister",
  "presets verify": "npx hookline presets verify github",
  "presets copy": "npx hookline presets copy github",
  "token rotate": "npx hookline token rotate default",
  "token drop": "npx hookline token drop default --yes",
  "import openclaw": "npx hookline import openclaw --print",
  "channels test": "npx hookline channels test slack --to C0123456789",
  "subscriptions list": "npx hookline subscriptions list",
  "subscriptions show": "npx hookline subscriptions show sub_5d1f",
  "subscriptions end": "npx hookline subscriptions end sub_5d1f",
  "subscriptions requests": "npx hookline subscriptions requests --limit 20",
  "mcp setup": "npx hookline mcp setup claude-code --url https://hooks.example.com",
  "tools list": "npx hookline tools list",
  "tools show": "npx hookline tools show tickets.create",
  "tools accept": "npx hookline tools accept runbooks",
  inbox: "npx hookline inbox",
  "approvals list": "npx hookline approvals list",
  "approvals show": "npx hookline approvals show 7f3k",
  "approvals approve": "npx hookline approvals approve 7f3k",
  "approvals deny": "npx hookline approvals deny 7f3k --reason 'Not on a Friday.'",
  "approvals settle": "npx hookline approvals settle 7f3k --done OPS-7",
  "tools call": "npx hookline tools call tickets.show --arguments '{\"id\":7}'",
  "mail setup": "npx hookline mail setup --address ann@example.com",
  "mail run": "npx hookline mail run --mailbox support",
  tail: "npx hookline tail --hook ci --status failed",
  record: "npx hookline record new-sender --to recorded",
  status: "npx hookline status --json",
  reload: "npx hookline reload",
  "events list": "npx hookline events list --hook ci --since 1h",
  "events show": "npx hookline events show --last",
  "events save": "npx hookline events save last --to transforms/ci --name failed",
  "events replay": "npx hookline events replay --hook ci --status failed --since 1h",
  "events catch-up": "npx hookline events catch-up github --since 6h --dry-run",
  "events export": "npx hookline events export --since 7d > events.ndjson",
  "sessions list": "npx hookline sessions list --limit 10",
  "sessions show": "npx hookline sessions show main",
  "runs list": "npx hookline runs list --state failed",
  "runs show": "npx hookline runs show 01a203fc-45d5-7a13-8e95-16865d04c3ab",
  "runs release": "npx hookline runs release",
  "runs cancel": "npx hookline runs cancel 01a203fc-45d5-7a13-8e95-16865d04c3ab",
  "hooks pause": "npx hookline hooks pause github",
  "hooks resume": "npx hookline hooks resume github",
  spend: "npx hookline spend --since 7d --by model",
  rejections: "npx hookline rejections --limit 10",
  "dead-letters list": "npx hookline dead-letters list",
  "dead-letters groups": "npx hookline dead-letters groups",
  "dead-letters retry": "npx hookline dead-letters retry --all",
  "dead-letters drop": "npx hookline dead-letters drop 01a203fc-45d5",
  bulk: "npx hookline bulk retry --hook ci --since 1h --dry-run",
  backup: "npx hookline backup /var/backups/webhooks.db",
  "store migrate": "npx hookline store migrate --to postgres://hookline@db.example.com/hookline",
  completion: "npx hookline completion bash > ~/.local/share/bash-completion/completions/webhooks",
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
