import type { Command } from "commander";
import { nameOf } from "../command-list.ts";
import { toOneOf } from "../command.ts";
import { loadConfig } from "../context.ts";
import { type CliIo, print, printJson } from "../io.ts";
import { listHooks } from "./send.ts";

/** In place of a shell: the names of the hooks, which the scripts ask for. */
const HOOKS = "hooks";
const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

const INSTALL = `
Where to put it:
  bash  npx hookline completion bash | tee ~/.local/share/bash-completion/completions/{hookline,webhooks} > /dev/null
  zsh   npx hookline completion zsh > "\${fpath[1]}/_hookline"
  fish  npx hookline completion fish | tee ~/.config/fish/completions/{hookline,webhooks}.fish > /dev/null`;

export function addCompletion(program: Command, io: CliIo): void {
  program
    .command("completion")
    .description("Print a script that completes commands and options in your shell.")
    .addHelpText("after", INSTALL)
    .argument("<shell>", SHELLS.join(", "), (text) => (text === HOOKS ? HOOKS : toOneOf(SHELLS)(text)))
    .option("--json", "print one JSON object: shell, script", false)
    .action(async (shell: Shell | typeof HOOKS, { json }: { json: boolean }) => {
      if (shell === HOOKS) return print(io, ...listHooks(await loadConfig(undefined, io)));
      const script = WRITERS[shell](listCompletions(program));
      if (json) printJson(io, { shell, script });
      else print(io, script.trimEnd());
    });
}

const WRITERS: Record<Shell, (completions: Completion[]) => string> = {
  bash: writeBash,
  zsh: writeZsh,
  fish: writeFish,
};

/** Words that can follow those of a command. */
interface Completion {
  /** `events list`; empty for `webhooks` itself. */
  name: string;
  words: { text: string; about: string }[];
  /** The options that take a value: a file name may follow. */
  valued: string[];
  /** Whether the name of a hook may follow. */
  takesHook: boolean;
}

function listCompletions(command: Command): Completion[] {
  const options = command.options.filter(({ hidden }) => !hidden);
  const words = [
    ...command.commands.map((child) => ({ text: child.name(), about: aboutOf(child) })),
    ...options.map(({ long, description }) => ({ text: long ?? "", about: description })),
    { text: "--help", about: "display help for command" },
  ];
  const valued = options.filter((option) => !option.isBoolean()).map(({ long }) => long ?? "");
  const name = command.parent ? nameOf(command) : "";
  const takesHook = command.registeredArguments[0]?.name() === "hook";
  return [{ name, words, valued, takesHook }, ...command.commands.flatMap(listCompletions)];
}

function aboutOf(command: Command): string {
  return (command.summary() || command.description()).split(/\. |\n/)[0]!.replace(/\.$/, "");
}

/** The words of a command line that lead to a completion, as patterns of a shell's `case`. */
function toPattern(completions: Completion[]): string {
  return completions
    .filter(({ name }) => name !== "")
    .map(({ name }) => quote(` ${name}`))
    .join(" | ");
}

function writeBash(completions: Completion[]): string {
  const cases = completions.map(({ name, words, valued, takesHook }) => {
    const texts = words.map(({ text }) => text).join(" ");
    const hooks = takesHook ? " hooks=1" : "";
    return `    ${quote(name && ` ${name}`)}) words=${quote(texts)} valued=${quote(` ${valued.join(" ")} `)}${hooks} ;;`;
  });
  return `# bash completion for hookline, and its other name webhooks
_hookline() {
  local at="" words="" valued="" hooks="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$at \${COMP_WORDS[index]}" in
    ${toPattern(completions)}) at+=" \${COMP_WORDS[index]}" ;;
    esac
  done
  case "$at" in
${cases.join("\n")}
  esac
  COMPREPLY=()
  # Without a word here, bash completes file names.
  if [[ $valued == *" \${COMP_WORDS[COMP_CWORD - 1]} "* ]]; then return; fi
  # A hook is the first word after the command.
  if [[ $hooks && $COMP_CWORD == 2 ]]; then words+=" $("\${COMP_WORDS[0]}" completion hooks 2>/dev/null)"; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _hookline hookline webhooks
`;
}

function writeZsh(completions: Completion[]): string {
  const cases = completions.map(({ name, words, valued, takesHook }) => {
    const hooks = takesHook ? "; hooks=1" : "";
    const described = words.map(({ text, about }) => quote(`${text}:${about}`)).join(" ");
    return `    ${quote(name && ` ${name}`)}) known=(${described}); valued=(${valued.join(" ")})${hooks} ;;`;
  });
  return `#compdef hookline webhooks
_hookline() {
  local at="" hooks="" index
  local -a known valued
  for ((index = 2; index < CURRENT; index++)); do
    case "$at \${words[index]}" in
    ${toPattern(completions)}) at+=" \${words[index]}" ;;
    esac
  done
  case "$at" in
${cases.join("\n")}
  esac
  if ((\${valued[(Ie)\${words[CURRENT-1]}]})); then _files; return; fi
  if [[ -n $hooks && $CURRENT == 3 ]]; then known+=(\${(f)"$(\${words[1]} completion hooks 2>/dev/null)"}); fi
  _describe 'hookline' known || _files
}
if [ "$funcstack[1]" = _hookline ]; then _hookline "$@"; else compdef _hookline hookline webhooks; fi
`;
}

function writeFish(completions: Completion[]): string {
  const hooks = completions
    .filter(({ takesHook }) => takesHook)
    .map(({ name }) => {
      const condition = quoteFish(`__hookline_at ${quoteFish(name)}; and test (count (commandline -opc)) = 2`);
      return `complete -c hookline -n ${condition} -f -a "(__hookline_hooks)"`;
    });
  const lines = completions.flatMap(({ name, words, valued }) =>
    words.map(({ text, about }) => {
      const word = text.startsWith("--") ? `-l ${text.slice(2)}` : `-f -a ${text}`;
      const value = valued.includes(text) ? " -r" : "";
      return `complete -c hookline -n ${quoteFish(`__hookline_at ${quoteFish(name)}`)} ${word}${value} -d ${quoteFish(about)}`;
    }),
  );
  const names = completions.filter(({ name }) => name !== "").map(({ name }) => quoteFish(name));
  return `# fish completion for hookline, and its other name webhooks
function __hookline_at
  set -l at ""
  for word in (commandline -opc)[2..]
    set -l next (string trim "$at $word")
    if contains -- $next ${names.join(" ")}
      set at $next
    end
  end
  test "$at" = "$argv[1]"
end
function __hookline_hooks
  set -l words (commandline -opc)
  $words[1] completion hooks 2>/dev/null
end
${[...lines, ...hooks].join("\n")}
complete -c webhooks -w hookline
`;
}

/** For bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
