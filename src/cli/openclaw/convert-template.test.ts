import { expect, test } from "vitest";
import { compileTemplate } from "../../core/mapping/template/template.ts";
import { convertTemplate } from "./convert-template.ts";

test.each([
  [
    "{{ payload.a.b }} {{a[0].b-c}} {{headers.x-event}} {{query.k}} {{now}}",
    "{{payload.a.b}} {{a[0].b-c}} {{headers.x-event}} {{query.k}} {{now}}",
  ],
  [
    "{{method}} {{item.x}} {{date}} {{index[1]}}",
    "{{payload.method}} {{payload.item.x}} {{payload.date}} {{payload.index[1]}}",
  ],
  ["{{a b.c}} {{#if}} {{x's}}", "{{[a b].c}} {{[#if]}} {{[x's]}}"],
  ["{{path}}/{{path.x}}", "orders/{{path.x}}"],
  ["no { braces } at }} all {{", "no { braces } at }} all {{"],
])("%j becomes %j", (text, expected) => {
  const { template } = convertTemplate(text, "orders");
  expect(template).toBe(expected);
  if (!template.endsWith("{{")) expect(() => compileTemplate(template)).not.toThrow();
});
