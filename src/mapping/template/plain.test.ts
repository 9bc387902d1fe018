import { expect, test } from "vitest";
import { compileTemplate } from "./template.ts";

const CONTEXT = {
  payload: { deep: { list: [1, "two", null], text: "é", empty: "", zero: 0, no: false, nothing: null } },
  headers: { "x-event": "push" },
  __proto__: { inherited: "no" },
  name: "constructor",
  index: 2,
  text: "a text",
};

test.each([
  "plain text, {{! a comment }}and {{~ name ~}} with white space",
  "{{payload.deep.list.[1]}} {{payload.deep.list[0]}} {{payload.deep.list.length}} {{text.length}}",
  "{{payload.deep}} {{payload.deep.list}} {{payload.deep.zero}} {{payload.deep.no}} {{payload.deep.nothing}}",
  "{{inherited}} {{constructor}} {{payload.__proto__}} {{text.constructor}} {{toString}} {{payload.deep.no.x}}",
  "{{headers.X-Event}} {{@root.headers.X-Event}} {{@root.text}} {{this.text}} {{./name}} {{@index}} {{@first}}",
  '{{"literal"}} {{5}} {{true}} {{json null}} {{json undefined}} {{json (or no text)}} {{{text}}} \\{{text}}',
  '{{truncate text 4}} {{default payload.deep.empty "none"}} {{join payload.deep.list "-"}} {{upper (lower "A")}}',
  "{{eq payload.deep.nothing null}} {{eq payload.deep.nothing.x null}} {{eq missing undefined}} {{eq index 2}}",
  "{{lookup headers (lower 'X-EVENT')}} {{not payload.deep.zero}} {{and text name}}",
])("without Handlebars' runtime a template writes the same: %s", (source) => {
  // A block needs the runtime.
  const [plain, whole] = [source, `${source}{{#if missing}}{{/if}}`].map(compileTemplate);
  expect(plain?.render(CONTEXT)).toBe(whole?.render(CONTEXT));
  expect(plain?.renderKey(CONTEXT)).toEqual(whole?.renderKey(CONTEXT));
});
