import { expect, test } from "vitest";
import { toMail } from "../../../test/support/mailbox.ts";
import { resolveUserConfig } from "../../core/config/load.ts";
import type { MailSettings } from "../../core/config/resolved-config.ts";
import type { Mail, MailMarks } from "../../core/ports/mail-source.ts";
import { createFilter } from "./batch.ts";

type Filter = Partial<MailSettings["filter"]>;

test.each<[string, Filter, Partial<Mail>, keyof Filter | undefined]>([
  ["any sender", {}, {}, undefined],
  ["an allowed address", { senders: ["Ann@Example.com"] }, {}, undefined],
  ["an allowed domain", { senders: ["bob@example.org", "@example.com"] }, {}, undefined],
  ["another address", { senders: ["bob@example.com"] }, {}, "senders"],
  ["a domain with the same end", { senders: ["@example.com"] }, { sender: "ann@evil-example.com" }, "senders"],
  ["a subdomain", { senders: ["@example.com"] }, { sender: "ann@mail.example.com" }, "senders"],
  ["an address within an address", { senders: ["@example.com"] }, { sender: '"ann@example.com"@evil.org' }, "senders"],
  ["no sender", { senders: ["@example.com"] }, { sender: "" }, "senders"],
  ["one of the labels", { labels: ["a", "b"] }, { labels: ["x", "b"] }, undefined],
  ["none of the labels", { labels: ["a"] }, { labels: ["A"] }, "labels"],
  ["dmarc passed", { dmarc: "pass" }, { authentication: { dmarc: "PASS" } }, undefined],
  ["dmarc failed", { dmarc: "pass" }, { authentication: { dmarc: "fail" } }, "dmarc"],
  ["dmarc is missing", { dmarc: "pass" }, {}, "dmarc"],
  ["an own mail", {}, { sender: "me@example.com" }, "own"],
  ["an own mail that is allowed", { own: true }, { sender: "me@example.com" }, undefined],
])("%s", (_, filter, mail, picked) => {
  expect(pick(filter, mail)).toBe(picked);
});

test.each<[keyof MailMarks, keyof Filter]>([
  ["spam", "spam"],
  ["trash", "trash"],
  ["draft", "drafts"],
])("%s is skipped unless it is allowed", (mark, name) => {
  expect(pick({}, {}, { [mark]: true })).toBe(name);
  expect(pick({ [name]: true }, {}, { [mark]: true })).toBeUndefined();
});

function pick(filter: Filter, mail: Partial<Mail>, marks: Partial<MailMarks> = {}): keyof Filter | undefined {
  const settings = { ...resolveUserConfig({}, { baseDir: "/" }).hooks.mail[0].filter, ...filter };
  return createFilter(settings, ["me@example.com"])({
    mail: { ...toMail("1"), ...mail },
    marks: { spam: false, trash: false, draft: false, ...marks },
  });
}
