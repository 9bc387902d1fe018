import { describe, expect, test } from "vitest";
import { type Dialect, HTML, MARKDOWN, renderMarkdown, SLACK, TELEGRAM, WHATSAPP } from "./markdown.ts";

const REPLY = `## The cause

The **disk** of \`db-1\` is *full*, ~~not~~ slow:

1. Stop \`vacuum\`
2. Read [the runbook](https://x.test/a?b&c)
   - [x] then this

> it was
> full

\`\`\`sh
df -h <all>
\`\`\``;

test("Slack's mrkdwn", async () => {
  expect(await renderMarkdown(REPLY, SLACK)).toBe(`*The cause*

The *disk* of \`db-1\` is _full_, ~not~ slow:

1. Stop \`vacuum\`
2. Read the runbook (<https://x.test/a?b&amp;c>)
  - [x] then this

> it was
> full

\`\`\`
df -h &lt;all&gt;
\`\`\``);
});

test("WhatsApp's formatting", async () => {
  const rendered = await renderMarkdown(REPLY, WHATSAPP);
  expect(rendered).toContain("The *disk* of `db-1` is _full_, ~not~ slow:");
  expect(rendered).toContain("Read the runbook (https://x.test/a?b&c)");
});

test("Markdown of Discord and Mattermost", async () => {
  const rendered = await renderMarkdown(REPLY, MARKDOWN);
  expect(rendered).toContain("The **disk** of `db-1` is *full*, ~~not~~ slow:");
  expect(rendered).toContain("```\ndf -h <all>\n```");
});

test("Telegram's HTML", async () => {
  const rendered = await renderMarkdown(REPLY, TELEGRAM);
  expect(rendered).toContain(
    "<b>The cause</b>\n\nThe <b>disk</b> of <code>db-1</code> is <i>full</i>, <s>not</s> slow:",
  );
  expect(rendered).toContain("<blockquote>it was\nfull</blockquote>\n\n<pre>df -h &lt;all&gt;</pre>");
  expect(await renderMarkdown("> > twice", TELEGRAM)).toBe("<blockquote>twice</blockquote>");
});

test("HTML of a mail", async () => {
  expect(await renderMarkdown(REPLY, HTML)).toBe(
    "<p><strong>The cause</strong></p>" +
      "<p>The <strong>disk</strong> of <code>db-1</code> is <em>full</em>, <s>not</s> slow:</p>" +
      "<ol><li>Stop <code>vacuum</code></li>" +
      '<li>Read the runbook (<a href="https://x.test/a?b&amp;c">https://x.test/a?b&amp;c</a>)' +
      "<ul><li>[x] then this</li></ul></li></ol>" +
      "<blockquote><p>it was<br>full</p></blockquote><pre>df -h &lt;all&gt;</pre>",
  );
});

describe.each(Object.entries({ SLACK, WHATSAPP, MARKDOWN, TELEGRAM, HTML }))("hostile text in %s", (_, dialect) => {
  const render = (text: string, limit?: number): Promise<string> => renderMarkdown(text, dialect, limit);

  test("a link shows where it leads", async () => {
    expect(await render("[https://bank.test](https://evil.test)")).toMatch(/bank\.test.* \(.*https:\/\/evil\.test/);
    expect(await render("[log in][1]\n\n[1]: https://evil.test")).not.toContain("href");
    expect(await render("[a](javascript:alert(1))")).not.toMatch(/href|\]\(/);
    expect(await render('[a](https://e.test/"onclick="x)')).not.toMatch(/<a [^>]*onclick|\]\(/);
    expect(await render("[a](<https://e.test/|b>)")).not.toMatch(/<https:[^>]*\|/);
    if (dialect === MARKDOWN) expect(await render("\\[a](https://e.test)")).not.toContain("](");
  });

  test("an address stands once", async () => {
    for (const text of ["https://x.test/a", "<https://x.test/a>", "[https://x.test/a](https://x.test/a)"]) {
      expect((await render(text)).match(/x\.test/g)?.length).toBe(dialect === HTML ? 2 : 1);
    }
    expect(await render("ada@x.test")).toBe(dialect === HTML ? "<p>ada@x.test</p>" : "ada@x.test");
  });

  test("no image, HTML or mention has an effect", async () => {
    expect(await render("![a](https://evil.test/?secret)")).not.toMatch(/<img|!\[/);
    const html = await render("<img src=x> <!channel> <@U1> <b>x</b>\n\n<script>x</script>");
    if (dialect !== WHATSAPP && dialect !== MARKDOWN) expect(html).not.toMatch(/<(?:img|!|@|b|script)/);
    expect(await render("@everyone **@here** @Channel @all")).not.toMatch(/@(?:e|h|C|all)/);
    expect(await render("code\n~~~\n```\n@x\n~~~")).not.toContain("\n```\n@x");
  });

  test.each([">".repeat(3000), `${"[a][1] ".repeat(900)}\n\n[1]: https://e.test/${"x".repeat(900)}`, "<".repeat(1990)])(
    "deep or repeated markup stays within the limit",
    async (text) => {
      const rendered = await render(text, 2500);
      expect(dialect.length?.(rendered) ?? rendered.length).toBeLessThanOrEqual(2500);
      expect(rendered.length).toBeGreaterThan(1000);
    },
  );

  test("what is not Markdown stays as it is", async () => {
    const plain = (inner: string): string => (dialect satisfies Dialect).paragraph?.(inner) ?? inner;
    expect(await render("Ünïcödé 👩‍👩‍👧 2 * 3 * 4 snake_case_name")).toBe(plain("Ünïcödé 👩‍👩‍👧 2 * 3 * 4 snake_case_name"));
    expect((await render("[1]: https://x.test")).includes("https://x.test")).toBe(true);
  });
});
