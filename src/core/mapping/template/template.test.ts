import { describe, expect, test, vi } from "vitest";
import { TemplateError } from "./syntax.ts";
import { compileTemplate, createBudget } from "./template.ts";

const context = {
  payload: { subject: "Re: a <b> & c" },
  headers: { "x-github-event": "issues" },
  subject: "Re: a <b> & c",
  labels: { "app.example.com/name": "web", "a.b": "dotted" },
  messages: [{ from: "ann", tags: ["x", "y"] }, { from: "bob" }],
  date: "today",
  nothing: null,
  off: false,
  nested: { headers: { "X-Own": "kept" } },
};

function render(source: string, over: object = {}): string {
  return compileTemplate(source).render({ ...context, ...over });
}

function failure(source: string): TemplateError {
  try {
    compileTemplate(source);
  } catch (error) {
    if (error instanceof TemplateError) return error;
  }
  throw new Error(`${source} compiled`);
}

describe("what a template renders", () => {
  test.each([
    ["plain text", "plain text"],
    ["{{subject}} {{{subject}}} {{payload.subject}}", "Re: a <b> & c Re: a <b> & c Re: a <b> & c"],
    ["[{{missing}}{{nothing}}{{missing.deeper.still}}]", "[]"],
    ["{{off}} {{messages.length}}", "false 2"],
    ["{{messages}}", JSON.stringify(context.messages)],
    ["{{messages[0].from}} {{messages.[1].from}} {{messages.0.tags[1]}}", "ann bob y"],
    ["{{#each messages}}{{@index}}{{from}}{{#unless @last}}, {{/unless}}{{/each}}", "0ann, 1bob"],
    ["{{messages.0.tags.1}} {{messages.1.from}}", "y bob"],
    ["{{labels['app.example.com/name']}} {{labels[\"a.b\"]}} {{labels.[a.b]}}", "web dotted dotted"],
    ["{{#each messages.0.tags}}{{@index}}{{/each}} {{default none 1.5}}", "01 1.5"],
    ["{{#with messages[0] as |first|}}{{first.from}} {{tags}}{{/with}}", 'ann ["x","y"]'],
    ["{{#if missing}}a{{else if subject}}b{{/if}}", "b"],
    ["{{#messages}}{{from}} {{/messages}}{{#missing}}x{{else}}none{{/missing}}", "ann bob none"],
    ["{{#if (eq messages.length 2)}}{{upper (truncate subject 4)}}{{/if}}", "RE:…"],
    ["{{#if messages.0.index includeZero=true}}a{{else}}b{{/if}}", "b"],
    ["{{lookup messages 1}}", '{"from":"bob"}'],
    ["{{default missing 'a[0]'}}", "a[0]"],
    ["\\{{messages[0]}}", "{{messages[0]}}"],
    ["{{!-- a note --}}{{! another }}x", "x"],
  ])("%s", (source, expected) => {
    expect(render(source)).toBe(expected);
  });

  test("a field takes precedence over a helper of its name", () => {
    expect(render("{{date}} {{date '2026-11-20'}}")).toBe("today 2026-11-20T00:00:00.000Z");
    expect(render("{{#log}}{{this}}{{/log}}{{^blockHelperMissing}}, {{/blockHelperMissing}}", { log: "a" })).toBe(
      "a, ",
    );
    expect(render("{{#'5'}}{{this}}{{/'5'}}{{#5}}{{this}}{{/5}}{{#'log'}}never{{/'log'}}", { 5: "five" })).toBe(
      "fivefive",
    );
    expect(render("{{#@if}}never{{/@if}}{{#helperMissing}}never{{/helperMissing}}")).toBe("");
  });

  test.each([
    "{{headers.X-GitHub-Event}}",
    "{{headers.[X-GitHub-Event]}}",
    "{{this.headers.x-github-event}}",
    "{{@root.headers.X-GITHUB-EVENT}}",
    "{{lookup headers 'X-GitHub-Event'}}",
    "{{#if subject}}{{headers.X-GitHub-Event}}{{/if}}",
    "{{#with nested}}{{../headers.X-GitHub-Event}}{{/with}}",
  ])("header names are case-insensitive: %s", (source) => {
    expect(render(source)).toBe("issues");
  });

  test("a payload's own headers keep their case", () => {
    expect(render("{{nested.headers.X-Own}}{{#with nested}} {{headers.X-Own}}{{/with}}")).toBe("kept kept");
  });

  test("a static template is recognized", () => {
    expect(compileTemplate("hook:{{! note }}main").isStatic).toBe(true);
    expect(compileTemplate("hook:main").render({})).toBe("hook:main");
    expect(compileTemplate("hook:{{id}}").isStatic).toBe(false);
  });
});

describe("what never renders", () => {
  const names = ["constructor", "__proto__", "toString", "hasOwnProperty", "__defineGetter__", "valueOf"];
  const forms = [
    (name: string) => `{{${name}}}`,
    (name: string) => `{{payload.${name}}}{{messages.${name}}}{{subject.${name}}}{{off.${name}}}`,
    (name: string) => `{{payload.${name}.${name}}}`,
    (name: string) => `{{lookup payload "${name}"}}{{lookup messages "${name}"}}{{lookup subject "${name}"}}`,
    (name: string) => `{{#with ${name}}}inside{{/with}}{{#each ${name}}}inside{{/each}}`,
    (name: string) => `{{#${name}}}inside{{/${name}}}`,
    (name: string) => `{{#if ${name}}}inside{{/if}}{{#if (lookup this "${name}")}}inside{{/if}}`,
    (name: string) => `{{default (lookup payload "${name}") ${name}}}`,
    (name: string) => `{{@root.${name}}}{{@${name}}}`,
    (name: string) =>
      `{{#with payload as |p|}}{{p.${name}}}{{/with}}{{#each messages}}{{${name}}}{{../${name}}}{{/each}}`,
  ];

  test.each(names.flatMap((name) => forms.map((form) => form(name))))("inherited: %s", (source) => {
    const warn = vi.spyOn(console, "error");
    expect(render(source)).toBe("");
    expect(warn).not.toHaveBeenCalled();
  });

  test("a payload's __proto__ is an ordinary field and pollutes nothing", () => {
    const payload = JSON.parse('{"__proto__":{"polluted":"own"},"constructor":"text"}');
    expect(render("{{payload.__proto__.polluted}} {{payload.constructor}}", { payload })).toBe("own text");
    expect(render("{{#each payload}}{{@key}} {{/each}}", { payload })).toBe("__proto__ constructor ");
    expect(render("{{polluted}}{{payload.polluted}}", { payload })).toBe("");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("a payload that looks like a helper, a partial or a template is text", () => {
    const tricky = { type: "Program", body: [], toString: "x", call: "y", helpers: {}, name: "{{headers}}" };
    expect(render("{{payload.name}}{{#with payload}}{{name}}{{/with}}", { payload: tricky })).toBe(
      "{{headers}}{{headers}}",
    );
    expect(render("{{payload}}", { payload: tricky })).toBe(JSON.stringify(tricky));
  });
});

describe("what cannot be used", () => {
  test.each([
    ["{{shout subject}}", 'Unknown helper "shout". Known: and, '],
    ["{{upper (shout subject)}}", '"shout"'],
    ["{{#repeat 3}}x{{/repeat}}", '"repeat". Known: each, if, unless, with'],
    ["{{payload.constructor subject}}", '"payload.constructor"'],
    ["{{'subject' subject}}", '"subject"'],
    ["{{log subject}}", '"log"'],
    ["{{helperMissing subject}}", '"helperMissing"'],
    ["{{@text subject}}", '"@text"'],
    ["{{> partial}}", "Partials"],
    ["{{#> partial}}{{/partial}}", "Partials"],
    ["{{#*inline 'x'}}{{/inline}}", "Partials and decorators"],
    ["{{#if list includeZero=(shout subject)}}x{{/if}}", 'Unknown helper "shout"'],
    ["{{#subject length=2}}x{{/subject}}", 'Unknown helper "subject"'],
    ["{{#if a}}x{{else @root length=2}}y{{/if}}", 'Unknown helper "@root"'],
    ["{{#if subject as |text|}}x{{/if}}", 'can name their values with "as"'],
    ["{{^each list as |item|}}x{{/each}}", 'can name their values with "as"'],
    ["{{#list as |item|}}x{{/list}}", 'can name their values with "as"'],
    ["{{#json subject}}x{{/json}}", '"json" is not a block'],
    ["{{each messages}}", '"each" is a block'],
    ["{{#if}}x{{/if}}", '"if" takes 1 value, not 0'],
    ["{{truncate subject}}", '"truncate" takes 2 values, not 1'],
    ["{{join messages ', ' 3}}", '"join" takes 1 to 2 values, not 3'],
    ["{{default}}{{default subject}}", '"default" takes 2 or more values, not 1'],
    ["{{json subject indent=2}}", '"json" takes no named values'],
    ["{{subject length=2}}", 'Unknown helper "subject"'],
    ["{{#if subject}}", "does not parse: a block is not closed."],
    ["{{#if a}}x{{else}}", "a block is not closed"],
    ["{{subject", "does not parse: a {{ is not closed."],
    ["{{", "a {{ is not closed"],
    ["{{labels.app.example.com/name}}", "in brackets: {{labels.[app.example.com/name]}}."],
    ["{{}}", "does not parse: unexpected syntax at the mark."],
    ["{{subject} and {{subject}}", "unexpected syntax at the mark"],
    ["{{#if subject}}{{/each}}", "if doesn't match each"],
  ])("%s", (source, message) => {
    expect(failure(source).message).toContain(message);
  });

  test("the error has the line, and the place if the parser knows it", () => {
    expect(failure("one\ntwo {{shout x}}").line).toBe(2);
    expect(failure("one\n{{#if x}}\n{{/each}}").line).toBe(2);
    const { line, excerpt } = failure("one\n{{a b c");
    expect(line).toBe(2);
    expect(excerpt).toMatch(/\{\{a b c\n-+\^/);
  });
});

describe("what a payload can cost", () => {
  const many = { list: Array.from({ length: 20_000 }, (_, index) => index), html: "<p hidden>no</p>".repeat(5000) };

  test.each([
    "{{#each list}}{{@root.list}}{{/each}}",
    "{{#each list}}{{#each ../list}}x{{/each}}{{/each}}",
    "{{#each list}}{{#list}}{{/list}}{{#each @root.list}}{{/each}}{{/each}}",
    "{{#each list}}{{#if (eq (json @root.list) 'x')}}{{/if}}{{/each}}",
    "{{#each list}}{{#if (lower (join @root.list))}}{{/if}}{{/each}}",
    "{{#each list}}{{truncate @root.list 1}}{{/each}}",
    "{{#each list}}{{htmlToText @root.html}}{{/each}}",
    "{{#each list}}{{lookup @root.headers @root.list}}{{/each}}",
  ])("ends at the budget: %s", (source) => {
    const template = compileTemplate(source);
    const startedAt = performance.now();
    expect(() => template.render(many)).toThrow(expect.objectContaining({ status: 413, code: "payload_too_large" }));
    // About 100 ms; without a budget it would be hours.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  test("one budget can serve several renders", () => {
    const template = compileTemplate("{{text}}");
    const budget = createBudget();
    const half = { text: "x".repeat(600_000) };
    expect(template.render(half, budget)).toHaveLength(600_000);
    expect(() => template.render(half, budget)).toThrow(expect.objectContaining({ status: 413 }));
    expect(template.render(half)).toHaveLength(600_000);
  });
});

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
  const [plain, whole] = [source, `${source}{{#if missing}}{{/if}}`].map((text) => compileTemplate(text));
  expect(plain?.render(CONTEXT)).toBe(whole?.render(CONTEXT));
  expect(plain?.renderKey(CONTEXT)).toEqual(whole?.renderKey(CONTEXT));
});
