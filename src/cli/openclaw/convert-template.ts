/** A template of OpenClaw in our syntax. */
interface ConvertedTemplate {
  template: string;
  /** The replacement of `{{path}}`: the hook's name, or the whole path if the name is unknown. */
  path: "name" | "whole" | undefined;
  /** The list whose first item it takes: `messages` of `{{messages[0].id}}`. */
  takesFirst: string | undefined;
}

/** Names that mean something else here, or are helpers. OpenClaw reads them from the payload. */
const OURS = new Set(
  "item index method rawBody base json default truncate join lower upper date eq and or not lookup before if unless each with this".split(
    " ",
  ),
);

/** A placeholder holds a path of keys and indexes there, and nothing else. `hook`: the name that `{{path}}` stands for. */
export function convertTemplate(text: string, hook: string | undefined): ConvertedTemplate {
  let named: ConvertedTemplate["path"];
  let takesFirst: string | undefined;
  const template = text.replace(/\{\{([^{}]+)\}\}/g, (_, given: string) => {
    const expression = given.trim();
    if (expression === "path") {
      named = hook === undefined ? "whole" : "name";
      return hook ?? "{{path}}";
    }
    const keys = expression.match(/[^.[\]]+/g) ?? [];
    const first = keys[0] === "payload" ? keys[1] : keys[0];
    if (/^(?:payload\.)?[\w$-]+\[0\]/.test(expression)) takesFirst ??= first;
    const isPlain = /^[\w$-]+(?:\.[\w$-]+|\[\d+\])*$/.test(expression);
    const converted = isPlain ? expression : keys.map(toSegment).join(".");
    return `{{${OURS.has(keys[0] ?? "") ? `payload.${converted}` : converted}}}`;
  });
  return { template, path: named, takesFirst };
}

function toSegment(key: string): string {
  return /^[A-Za-z_$][\w$-]*$/.test(key) ? key : `[${key}]`;
}
