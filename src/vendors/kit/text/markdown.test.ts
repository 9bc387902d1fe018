import { describe, expect, test } from "vitest";
import { HTML, MAIL, MARKDOWN, MATTERMOST, PLAIN, SLACK, TELEGRAM, WHATSAPP } from "./dialects.ts";
import { type Dialect, renderMarkdown } from "./markdown.ts";

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
  expect(rendered).toContain("```sh\ndf -h <all>\n```");
});

test("Telegram's HTML", async () => {
  const rendered = await renderMarkdown(REPLY, TELEGRAM);
  expect(rendered).toContain(
    "<b>The cause</b>\n\nThe <b>disk</b> of <code>db-1</code> is <i>full</i>, <s>not</s> slow:",
  );
  expect(rendered).toContain(
    '<blockquote>it was\nfull</blockquote>\n\n<pre><code class="language-sh">df -h &lt;all&gt;</code></pre>',
  );
  expect(await renderMarkdown("> > twice", TELEGRAM)).toBe("<blockquote>twice</blockquote>");
});

test("HTML of a mail", async () => {
  expect(await renderMarkdown(REPLY, HTML)).toBe(
    "<p><strong>The cause</strong></p>" +
      "<p>The <strong>disk</strong> of <code>db-1</code> is <em>full</em>, <s>not</s> slow:</p>" +
      "<ol><li>Stop <code>vacuum</code></li>" +
      '<li>Read the runbook (<a href="https://x.test/a?b&amp;c">https://x.test/a?b&amp;c</a>)' +
      "<ul><li>[x] then this</li></ul></li></ol>" +
      '<blockquote><p>it was<br>full</p></blockquote><pre><code class="language-sh">df -h &lt;all&gt;</code></pre>',
  );
});

test("plain text has no marks", async () => {
  expect(await renderMarkdown(REPLY, PLAIN)).toBe(`The cause

The disk of db-1 is full, not slow:

1. Stop vacuum
2. Read the runbook (https://x.test/a?b&c)
  - [x] then this

> it was
> full

df -h <all>`);
});

const TABLE = "| **Disk** | Use |\n|---|:-:|\n| `a\\|b` | <b> [x](https://x.test) |";

test("a table stays one where the service has tables, outside of lists and quotes", async () => {
  expect(await renderMarkdown(TABLE, MATTERMOST)).toBe(
    "| **Disk** | Use |\n| --- | --- |\n| `a\\|b` | <b> x (https://x.test) |",
  );
  expect(await renderMarkdown(TABLE, MAIL)).toBe(
    "<table><tr><th><strong>Disk</strong></th><th>Use</th></tr><tr><td><code>a|b</code></td>" +
      '<td>&lt;b&gt; x (<a href="https://x.test">https://x.test</a>)</td></tr></table>',
  );
  for (const dialect of [SLACK, MARKDOWN]) expect(await renderMarkdown(TABLE, dialect)).toMatch(/^```\n\| \*\*Disk/);
  expect(await renderMarkdown(TABLE.replaceAll(/^/gm, "> "), MAIL)).toMatch(/^<blockquote><pre>/);
});

test("only the first word behind a fence is its language", async () => {
  const show = (info: string): Promise<string> => renderMarkdown(`\`\`\`${info}\nx\n\`\`\``, TELEGRAM);
  expect(await show("c++ {1,2}")).toBe('<pre><code class="language-c++">x</code></pre>');
  for (const info of ["", '"><b>', "a&b", "x".repeat(31)]) expect(await show(info)).toBe("<pre>x</pre>");
});

const DIALECTS = { SLACK, WHATSAPP, MARKDOWN, MATTERMOST, TELEGRAM, HTML, MAIL, PLAIN };
/** In the others, a tag is nothing but text. */
const WITH_TAGS: Dialect[] = [SLACK, TELEGRAM, HTML, MAIL];

describe.each(Object.entries<Dialect>(DIALECTS))("hostile text in %s", (_, dialect) => {
  const render = (text: string): Promise<string> => renderMarkdown(text, dialect);

  test("a link shows where it leads", async () => {
    expect(await render("[https://bank.test](https://evil.test)")).toMatch(/bank\.test.* \(.*https:\/\/evil\.test/);
    expect(await render("[log in][1]\n\n[1]: https://evil.test")).toMatch(/log in.* \(.*https:\/\/evil\.test/);
    expect(await render("[a](javascript:alert(1))")).not.toMatch(/href|\]\(/);
    expect(await render('[a](https://e.test/"onclick="x)')).not.toMatch(/<a [^>]*onclick|\]\(/);
    expect(await render("[a](<https://e.test/|b>)")).not.toMatch(/<https:[^>]*\|/);
    for (const text of ["\\[a](https://e.test)", "[a]\\(https://e.test)", "# [a]**(https://e.test)**"]) {
      if (dialect === MARKDOWN || dialect === MATTERMOST) expect(await render(text)).not.toContain("](");
    }
  });

  test("an address stands once", async () => {
    for (const text of ["https://x.test/a", "<https://x.test/a>", "[https://x.test/a](https://x.test/a)"]) {
      expect((await render(text)).match(/x\.test/g)?.length).toBe(dialect.paragraph ? 2 : 1);
    }
    expect(await render("ada@x.test")).toBe(dialect.paragraph ? "<p>ada@x.test</p>" : "ada@x.test");
  });

  test("no image, HTML or mention has an effect", async () => {
    expect(await render("![a](https://evil.test/?secret)")).not.toMatch(/<img|!\[/);
    const html = await render("<img src=x> <!channel> <@U1> <b>x</b>\n\n<script>x</script>");
    if (WITH_TAGS.includes(dialect)) expect(html).not.toMatch(/<(?:img|!|@|b|script)/);
    if (dialect !== PLAIN) expect(await render("code\n~~~\n```\n@x\n~~~")).not.toContain("\n```\n@x");
  });

  test.each([
    "@everyone @Channel @HERE @all",
    "**@here** *@all* ~~@channel~~ _@here_ @all_ @channel. (@here) @all:",
    "\\@channel ~~\\@all~~ *\\@here* \\@all\\_ \\\\@all",
    "@[all](https://x.test) @chan[nel](https://x.test) [@all][1]\n\n[1]: https://x.test",
    "@![all](https://x.test) ![@all](https://x.test)",
    "# @here\n\n# @**here**\n\n> @all\n\n- [x] @channel\n\n| @all |\n|---|\n| @here |",
    "&#64;all &#x40;here &commat;channel @&#97;ll \\&#64;all &\\#64;all &com[mat;all](https://x.test) `&#64;all`",
    "`@all` ``@here``\n\n~~~\n@channel\n~~~\n\n    @everyone",
    "\\` `@all`",
    "\\~~~\n\n```\n~~~\n@all\n```",
    "x<https://x.test/@all> https://x.test/@here [a](https://x.test/@channel) <mailto:@everyone>",
    `${">".repeat(50)} @all`,
    "<!channel> <!here|here> <!everyone> <!subteam^S1> <@U1>",
    "<at>all</at> <at id='0'>@everyone</at>",
    '<a href="tg://user?id=1">@all</a> [all](tg://user?id=1)',
  ])("nothing notifies a group: %s", async (text) => {
    const rendered = await render(text);
    expect(rendered).not.toMatch(/@(?:everyone|channel|here|all)(?![\p{L}\p{N}])/iu);
    if (WITH_TAGS.includes(dialect)) expect(rendered).not.toMatch(/<(?:!|@|at\b|a href="tg:)/);
    if (dialect === MATTERMOST) expect(rendered).not.toMatch(/&(?:#\w+|commat);/);
  });

  test("an address with the name of a group leads where it led, and other names stay", async () => {
    expect(await render("<https://x.test/@all/a>")).toContain("https://x.test/%40all/a");
    expect(await render("@allen @hereford @ada")).toContain("@allen @hereford @ada");
  });

  test.each([">".repeat(3000), "<".repeat(1990)])("deep or repeated markup is shown", async (text) => {
    expect((await render(text)).length).toBeGreaterThan(1000);
  });

  test("a heading with bold text is bold once, and a link with a label shows its address", async () => {
    expect(await render("# a **b** c")).not.toMatch(/\*\*?b|<(?:b|strong)>b/);
    expect(await render("[see][1] ![x][1]\n\n[1]: https://x.test/a")).toMatch(
      /see \(.*https:\/\/x\.test\/a.*\).* x .*https:\/\/x\.test\/a/,
    );
  });

  test("what is not Markdown stays as it is", async () => {
    const plain = (inner: string): string => (dialect satisfies Dialect).paragraph?.(inner) ?? inner;
    expect(await render("Ünïcödé 👩‍👩‍👧 2 * 3 * 4 snake_case_name")).toBe(plain("Ünïcödé 👩‍👩‍👧 2 * 3 * 4 snake_case_name"));
    expect((await render("[1]: https://x.test")).includes("https://x.test")).toBe(true);
  });
});
