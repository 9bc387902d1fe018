import {
  autocompletion,
  type Completion,
  type CompletionContext,
  completionKeymap,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript, javascriptLanguage } from "@codemirror/lang-javascript";
import { codeFolding, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers, MatchDecorator, placeholder, ViewPlugin } from "@codemirror/view";
import { tags } from "@lezer/highlight";

type Language = "template" | "typescript" | "json5" | "text";

/** A place in the text, from 1; without one, the whole text. */
export interface Problem {
  message: string;
  line?: number;
  column?: number;
}

export interface Suggestion {
  label: string;
  /** Shown beside it: its value in the payload, or what it is. */
  detail?: string;
}

export interface EditorOptions {
  label: string;
  /** Default: text. */
  language?: Language;
  /** The text at the start. */
  text: string;
  hint?: string;
  /** The paths of the payload, as a template has them. */
  paths?(): readonly Suggestion[];
  onChange(text: string): void;
}

export interface Editor {
  setProblems(problems: readonly Problem[]): void;
  destroy(): void;
}

/** The editor is in a shadow root, where it may add its styles under a policy that forbids inline ones. */
export function createEditor(host: HTMLElement, options: EditorOptions): Editor {
  const { language = "text", text, paths = () => [], onChange, label, hint } = options;
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: text, extensions: extensions() }),
  });
  return {
    setProblems(problems) {
      const { doc } = view.state;
      const diagnostics = problems.map(({ message, line, column = 1 }) => {
        if (line === undefined || line > doc.lines)
          return { from: 0, to: doc.length, message, severity: "error" as const };
        const { from, to } = doc.line(line);
        const start = Math.min(from + column - 1, to);
        return { from: start, to: Math.min(start + 1, to), message, severity: "error" as const };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    destroy: () => view.destroy(),
  };

  function extensions(): Extension {
    return [
      history(),
      EditorView.lineWrapping,
      EditorState.tabSize.of(2),
      keymap.of([
        ...completionKeymap,
        ...defaultKeymap,
        ...historyKeymap,
        ...(language === "typescript" ? [...foldKeymap, indentWithTab] : []),
      ]),
      autocompletion({ override: [(context) => complete(context, language, paths())], icons: false }),
      language === "typescript" || language === "json5"
        ? [
            language === "json5" ? JSON5 : javascript({ typescript: true }),
            syntaxHighlighting(COLORS),
            lineNumbers(),
            lintGutter(),
            codeFolding(),
            foldGutter(),
          ]
        : [],
      language === "template" ? PLACEHOLDERS : [],
      hint === undefined ? [] : placeholder(hint),
      // A scrolling region has to be in the order of the keyboard.
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) onChange(update.state.doc.toString());
      }),
      THEME,
    ];
  }
}

/** An object as an expression has the same words and colors. */
const JSON5 = javascriptLanguage.configure({ top: "SingleExpression" });

function complete(
  context: CompletionContext,
  language: Language,
  paths: readonly Suggestion[],
): CompletionResult | null {
  if (language === "text" || !isInCode(context, language)) return null;
  const word = context.matchBefore(/[\w$.[\]"'-]+/);
  if (!word && !context.explicit && language !== "template") return null;
  const scoped = language === "typescript" ? paths.map(toScriptName) : paths;
  const options: Completion[] = [...scoped, ...(language === "json5" ? [] : KEYWORDS[language])];
  return { from: word?.from ?? context.pos, options, validFor: /^[\w$.[\]"'-]*$/ };
}

/** In a template, only between braces. */
function isInCode({ state, pos }: CompletionContext, language: Language): boolean {
  if (language !== "template") return true;
  const before = state.sliceDoc(Math.max(0, pos - 500), pos);
  return before.lastIndexOf("{{") > before.lastIndexOf("}}");
}

/** `payload.items.[0].a-b` → `payload.items[0]["a-b"]` */
function toScriptName({ label, detail }: Suggestion): Suggestion {
  const script = label
    .replaceAll(/\.\[(\d+)\]/g, "[$1]")
    .replaceAll(/\.\[([^\]]+)\]/g, (_all, key: string) => `[${JSON.stringify(key)}]`)
    .replaceAll(/\.([\w$]*-[\w$-]*)/g, (_all, key: string) => `[${JSON.stringify(key)}]`);
  return { label: script, detail };
}

/** By what they are. */
const toSuggestions = (labels: Record<string, string>): Suggestion[] =>
  Object.entries(labels).flatMap(([detail, text]) => text.split(" ").map((label) => ({ label, detail })));

const KEYWORDS: Record<"template" | "typescript", Suggestion[]> = {
  template: toSuggestions({
    helper: "json default truncate before rest parse join brief lower upper date eq and or not lookup",
    block: "#if #unless #each #with else /if /unless /each /with",
    request: "headers query path method now item index",
  }),
  typescript: toSuggestions({
    input: "payload rawBody headers query path method hook mapping event now base secrets item index",
    "action field": "kind message text name sessionKey wakeMode mode deliver channel to model thinking timeoutSeconds",
    base: "base.message base.text base.name base.sessionKey base.deliver base.channel base.to base.kind",
    keyword: "export default const return null undefined console.log",
  }),
};

const COLORS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--accent)" },
  { tag: [tags.string, tags.regexp, tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: [tags.comment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.propertyName], color: "var(--text)" },
]);

const PLACEHOLDER = new MatchDecorator({
  regexp: /\{\{[^{}]*\}\}/g,
  decoration: Decoration.mark({ class: "cm-placeholder-expression" }),
});

const PLACEHOLDERS = ViewPlugin.define(
  (view) => ({
    decorations: PLACEHOLDER.createDeco(view),
    update(update) {
      this.decorations = PLACEHOLDER.updateDeco(update, this.decorations);
    },
  }),
  { decorations: (plugin) => plugin.decorations },
);

const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--panel)", fontSize: "12px", maxHeight: "52vh" },
  // Its frame shows the focus: an outline here would be below the gutter.
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 10px" },
  ".cm-gutters": { backgroundColor: "var(--panel)", border: "0" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-placeholder-expression": { color: "var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", border: "1px solid var(--line)", color: "var(--text)" },
  ".cm-tooltip-autocomplete ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal", marginLeft: "12px" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-diagnostic": { fontFamily: "var(--mono)", whiteSpace: "pre-wrap" },
});
