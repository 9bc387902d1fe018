import { expect, test } from "vitest";
import { htmlToText } from "./html.ts";

test.each([
  [
    "a title and styles are not shown",
    "<html><head><title>T</title><style>p{}</style></head><body><script>x</script>text</body></html>",
    "text",
  ],
  ["text outside of the body is shown", "before<body>in</body>after", "beforeinafter"],
  ["links", '<a href="https://a.example/x?y=1">words</a>', "words [https://a.example/x?y=1]"],
  ["a link that shows its target", '<a href="https://a.example">https://a.example</a>', "https://a.example"],
  ["a picture that links", '<a href="https://a.example"><img src="x.png" alt="Shop"></a>', "https://a.example"],
  ["headings", "<h1>Big</h1><p>small</p>", "Big\n\nsmall"],
  [
    "a table",
    "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>3 EUR</td></tr></table>",
    "Item  Price\nTea  3 EUR",
  ],
  ["a list", "<ul><li>one</li><li>two</li></ul>", "- one\n- two"],
  ["a quote", "<p>own</p><blockquote><p>theirs</p><p>more</p></blockquote>", "own\n\n> theirs\n>\n> more"],
  ["entities", "&lt;b&gt; &amp;amp; &eacute;", "<b> &amp; é"],
  [
    "hidden elements",
    '<p hidden>a</p><p style="color:red; DISPLAY:none">b</p><p style="display: none!important">c</p>seen',
    "seen",
  ],
  ["padding of a preview", "<p>Hi&zwnj;&nbsp;&#847;&zwnj;&nbsp;&shy;</p><p>text</p>", "Hi\n\ntext"],
  ["joined characters", "<p>👩&zwj;👧</p>", "👩‍👧"],
  ["a comment without end", "a<!-- b", "a"],
  ["an element that the library cannot convert", "<constructor>text</constructor>", "text"],
])("%s", (_, html, text) => {
  expect(htmlToText(html).trim()).toBe(text);
});

test.each(["blockquote", "ul><li", "ol><li", "div", "table><tr><td", "a href=x", "pre", "b"])(
  "a thousand levels of <%s> around many lines do not grow",
  (tag) => {
    const html = `${`<${tag}>`.repeat(20)}${"<br>line".repeat(5000)}${`<${tag}>`.repeat(1000)}`;
    expect(htmlToText(html).length).toBeLessThan(2 * html.length);
  },
);

const HIDDEN_TRICKS: [trick: string, html: string][] = [
  ["display", '<p style="display : none">x</p>'],
  ["display, with a comment and an escape", '<p style="display:/**/n\\6fne">x</p>'],
  ["an escaped property", '<p style="d\\69splay:none">x</p>'],
  ["visibility", '<p style="visibility:hidden">x</p>'],
  ["opacity", '<p style="opacity:0">x</p>'],
  ["opacity of a parent", '<div style="opacity:.01"><p style="opacity:1">x</p></div>'],
  ["font-size", '<p style="font-size:0">x</p>'],
  ["a tiny font", '<p style="font-size:1px">x</p>'],
  ["a font of nothing", '<p style="font:0/0 a">x</p>'],
  ["a font in relative units", '<p style="font-size:.05em">x</p>'],
  ["the color of the page", '<p style="color:#fff">x</p>'],
  ["the color of the background", '<div style="background:#123456"><p style="color:rgb(18,52,87)">x</p></div>'],
  ["attributes with colors", '<table bgcolor="red"><td><font color="#ff0000">x</font></table>'],
  ["a transparent color", '<p style="color:transparent">x</p>'],
  ["a transparent fill", '<p style="-webkit-text-fill-color:rgba(0,0,0,0)">x</p>'],
  ["max-height", '<div style="max-height:0;overflow:hidden">x</div>'],
  ["height and overflow", '<div style="height:1px;overflow:hidden"><b>x</b></div>'],
  ["width and overflow", '<div style="width:0;overflow-x:hidden">x</div>'],
  ["a position off the screen", '<p style="position:absolute;left:-9999px">x</p>'],
  ["a relative position off the screen", '<p style="position:fixed;top:-200vh">x</p>'],
  ["an indent off the screen", '<p style="text-indent:-999em">x</p>'],
  ["a margin off the screen", '<p style="margin:-5000px 0 0">x</p>'],
  ["a transform", '<p style="transform:scale(0)">x</p>'],
  ["clip", '<p style="position:absolute;clip:rect(0 0 0 0)">x</p>'],
  ["clip-path", '<p style="clip-path:circle(0)">x</p>'],
  ["a filter", '<p style="filter:opacity(0%)">x</p>'],
  ["the attribute hidden", "<p hidden>x</p>"],
  ["<template>", "<template><p>x</p></template>"],
  [
    "<noscript>, <iframe>, <object> and <svg>",
    "<noscript>x</noscript><iframe>x</iframe><object>x</object><svg><text>x</text></svg>",
  ],
  ["a closed <details> and <dialog>", "<details><p>x</p></details><dialog>x</dialog>"],
  [
    "text directly in a closed <details>, and its second summary",
    "<details>x<summary></summary>x<summary>x</summary></details>",
  ],
  ["a class", "<style>.h{display:none}</style><p class=h>x</p>"],
  ["an id, important", '<style>#h{display:none!important}</style><p id=h style="display:block">x</p>'],
  ["an attribute", '<style>[data-h^="a" i]{opacity:0}</style><p data-h=ABC>x</p>'],
  ["ancestors and neighbors", "<style>div>i+b .h{font-size:0}</style><div><i></i><b><a class=h>x</a></b></div>"],
  ["a structure", "<style>p:not(.a):nth-child(odd){display:none}</style><div><p>x</p></div>"],
  [
    "a query that holds",
    "<style>@media screen and (max-width:9999px){@supports (color:red){p{display:none}}}</style><p>x</p>",
  ],
  ["a nested rule", "<style>div{color:red;& p{display:none}}</style><div><p>x</p></div>"],
  ["a query in a rule", "<style>p{color:red;@media screen{font-size:0}}</style><p>x</p>"],
  ["a selector that is not known", "<style>p:state(a){font-size:0}</style><p>x</p>"],
  ...["p:nonsense", "p::nonsense", "p:contains(x)", ":parent", "n|p"].map((unknown): [string, string] => [
    `${unknown} in its list drops a rule that shows it`,
    `<style>p{display:none} p,${unknown}{display:block}</style><p>x</p>`,
  ]),
  [
    "a selector that no browser knows does not show it",
    "<style>p{display:none} :parent{display:block}</style><p>x</p>",
  ],
  [
    "an important rule in a layer",
    "<style>@layer a{p{display:none!important}} p.a{display:block!important}</style><p class=a>x</p>",
  ],
  [
    "an important rule in a layer in a rule",
    "<style>p{@layer a{display:none!important} display:block!important}</style><p>x</p>",
  ],
  ["a layer that is gone back to", "<style>@layer a{p{display:none}} p{display:revert-layer}</style><p>x</p>"],
  ["a scale that is gone back to", "<style>@layer a{p{scale:0}} p{scale:revert-layer}</style><p>x</p>"],
  [
    "an overflow that is gone back to",
    "<style>@layer a{p{overflow:hidden;height:0}} p{overflow:revert-layer;height:0}</style><p>x</p>",
  ],
  [
    "a background that is gone back to",
    "<style>@layer a{p{background:black}} p{background:revert-layer;color:black}</style><p>x</p>",
  ],
  ["a broken rule before", "<style>{} a{;;b} c{d:} .h{display:none}</style><p class=h>x</p>"],
  ["a style sheet behind the text", "<p class=h>x</p><style>.h{display:none}</style>"],
  ["a pseudo-class in :not()", "<style>p:not(:hover){display:none}</style><p>x</p>"],
  ["a pseudo-class in :not() that is not known", "<style>p:not(:target){display:none}</style><p>x</p>"],
  ["a pseudo-element in a string", "<style>[title='::']{display:none}</style><p title='::'>x</p>"],
  ["a box that is checked", "<style>:checked+p{display:none}</style><input type=checkbox checked><p>x</p>"],
  ["an invalid display behind it", '<p style="display:none;display:nonsense">x</p>'],
  ["an invalid font-size behind it", '<p style="font-size:0;font-size:bogus">x</p>'],
  ["an invalid opacity behind it", '<p style="opacity:0;opacity:1px">x</p>'],
  ["an invalid color behind it", '<!doctype html><p style="color:white;color:000">x</p>'],
  ["an invalid color that would only hide elsewhere", '<p style="background:#000;color:#000;color:#fffff">x</p>'],
  ["a color without # in quirks mode", '<p style="background:#000;color:fff;color:000">x</p>'],
  ["a font without a unit in quirks mode", '<p style="font-size:1">x</p>'],
  ...[
    "<style media=print>RULE</style>",
    "<style media='screen and (aspect-ratio:1/1000)'>RULE</style>",
    "<style type=text/x>RULE</style>",
    "<style>@supports (nonsense:1){RULE}</style>",
    "<style>@layer a{RULE}</style>",
    "<style>@container (width>9999px){RULE}</style>",
    "<style>@media (aspect-ratio:1/1000){RULE}</style>",
    "<style>@media nonsense{RULE}</style>",
    "<style>@media screen and{RULE}</style>",
  ].map((style): [string, string] => [
    `${style} does not show it`,
    `<style>p{display:none}</style>${style.replace("RULE", "p{display:block}")}<p>x</p>`,
  ]),
  ...[
    "<style media='screen, print'>RULE</style>",
    "<style type=TEXT/CSS media=''>RULE</style>",
    "<style>@media not (aspect-ratio:1/1000){RULE}</style>",
    "<style>@media screen /* print */{RULE}</style>",
    "<style>@media (min-width:1px) or (prefers-color-scheme:dark){RULE}</style>",
    "<style>@media (max-width:calc(1px*9999)){RULE}</style>",
    "<style>@layer a{RULE}</style>",
  ].map((style): [string, string] => [
    `${style} hides it`,
    `${style.replace("RULE", "p{height:0;overflow:hidden}")}<p>x</p>`,
  ]),
  ["a style sheet behind one without end", "<style>a{</style><style>p{display:none}</style><p>x</p>"],
  ["a variable", '<p style="--a:none;display:var(--a)">x</p>'],
  ["a variable of the page", "<style>:root{--a:#fff} p{color:var(--a)}</style><p>x</p>"],
  ["a variable in a variable", '<p style="--b:0;--a:var(--b);opacity:var(--a)">x</p>'],
  ["the fallback of a variable", '<p style="display:var(--nobody,var(--either,none))">x</p>'],
  [
    "a variable in a rule that may count",
    "<style>@supports (a:b){p{display:var(--a)}}</style><p style='--a:none'>x</p>",
  ],
  ["a sum", '<p style="font-size:calc(1px + 1px)">x</p>'],
  ["a sum off the screen", '<p style="position:absolute;left:calc(-100% - 5000px)">x</p>'],
  ["the least of two", '<p style="font-size:min(16px,1px)">x</p>'],
  ["a clamped size", '<p style="max-height:clamp(0px,1px,1px);overflow:hidden">x</p>'],
  ["an opacity of nothing", '<p style="opacity:calc(1 - 1)">x</p>'],
  ["a matrix of nothing", '<p style="transform:matrix(0,0,0,0,0,0)">x</p>'],
  ["a matrix off the screen", '<p style="transform:matrix(1,0,0,1,-9999,0)">x</p>'],
  ["a matrix in space", '<p style="transform:matrix3d(0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,1)">x</p>'],
  ["an edge", '<p style="transform:rotateY(90deg)">x</p>'],
  ["the second transform", '<p style="transform:translateX(1px) scaleX(0)">x</p>'],
  ["an inset of everything", '<p style="clip-path:inset(50% 0 50% 0)">x</p>'],
  ["an inset of one value", '<p style="clip-path:inset(100%)">x</p>'],
  ["a polygon without an area", '<p style="clip-path:polygon(0 0, 0 0, 0 0)">x</p>'],
  ["a mixed color", '<p style="color:color-mix(in srgb, white 100%, black)">x</p>'],
  ["a color mixed to nothing", '<p style="color:color-mix(in srgb, black 1%, transparent 99%)">x</p>'],
  ["the light of two colors", '<p style="color:light-dark(white, black)">x</p>'],
  ["a mask", '<p style="-webkit-mask-image:linear-gradient(transparent,transparent)">x</p>'],
  ["a mask from elsewhere", '<p style="mask:url(data:image/png;base64,AAAA)">x</p>'],
  ["a contained size", '<div style="contain:size;overflow:hidden">x</div>'],
  ["a strict box", '<div style="contain:strict">x</div>'],
  ["rows of nothing", '<div style="display:grid;grid-template-rows:0fr"><p style="overflow:hidden">x</p></div>'],
  [
    "columns of nothing",
    '<div style="display:grid;grid-template-columns:minmax(0,0fr)"><p style="overflow:hidden">x</p></div>',
  ],
  ["an adjusted font", '<p style="font-size-adjust:0">x</p>'],
  ["a style sheet in its address", '<link rel=stylesheet href="data:text/css,p{display:none}"><p>x</p>'],
  [
    "one in base64",
    `<link rel="a StyleSheet" href="data:text/css;charset=utf-8;base64,${btoa("p{display:none}")}"><p>x</p>`,
  ],
  ["an imported style sheet", "<style>@import url('data:text/css,p%7Bopacity:0%7D') screen;</style><p>x</p>"],
  ["a style sheet too broken to be read", `<style>${"a{b}".repeat(5000)}</style><p>x</p>`],
  [
    "more selectors than are compared",
    `<style>${"u i i i p{display:none}".repeat(50)}</style>${"<i>".repeat(1000)}<p>x`,
  ],
];

test.each(HIDDEN_TRICKS)("hidden text is dropped: %s", (_, html) => {
  expect(htmlToText(html)).toBe("");
});

test.each([
  ["a rule for small screens", "<style>@media (max-width:600px){p{display:none}}</style><p>x</p>"],
  ["another rule for small screens", "<style>@media (width <= 600px){p{display:none}}</style><p>x</p>"],
  ["a rule for printing", "<style>@media print{p{display:none}}</style><p>x</p>"],
  ["a rule for the dark", "<style>@media (prefers-color-scheme:dark){p{color:#fff}}</style><p>x</p>"],
  [
    "a rule for another program",
    "<style>u + .body .h, .ExternalClass p{display:none}</style><body class=body><p class=h>x</p>",
  ],
  ["a stronger rule", "<style>p.a{display:block} p{display:none}</style><p class=a>x</p>"],
  ["a rule under the mouse", "<style>p:hover{opacity:0} p::before{display:none}</style><p>x</p>"],
  [
    "a rule for a part of an element",
    "<style>p{display:none} p,p::before,a:focus-within,p::-webkit-x{display:block}</style><p>x</p>",
  ],
  [
    "a rule for other elements by their language, or what they are for",
    "<style>.y:lang(fr),.y:read-only,.y:read-write,p:target-within{display:none}</style><p>x</p>",
  ],
  ["a part that is not known", "<style>p::-moz-x{display:none}</style><p>x</p>"],
  ["a rule over one in a layer", "<style>@layer a{p.a{display:none}} p{display:block}</style><p class=a>x</p>"],
  [
    "an important style over a layer",
    "<style>@layer a{p{display:none!important}}</style><p style='display:block!important'>x</p>",
  ],
  ["a style sheet for printing", "<style media=print>p{display:none}</style><p>x</p>"],
  ["a style sheet in another language", "<style type=text/less>p{display:none}</style><p>x</p>"],
  [
    "a rule for small screens, with a comment",
    "<style>@media (max-width:600px) /* small */{p{display:none}}</style><p>x</p>",
  ],
  [
    "what a screen shows",
    "<style>p{display:none} @media only screen and (min-width : 480px){p{display:block}}</style><p>x</p>",
  ],
  [
    "what a style sheet for screens shows",
    "<style>p{display:none}</style><style media='Screen AND (min-width: 480px)'>p{display:block}</style><p>x</p>",
  ],
  ["light text on dark in a query", "<style>@media (hover:hover){p{color:#fff;background:#000}}</style><p>x</p>"],
  ["a box that is not checked", "<style>:checked+p{display:none}</style><input type=checkbox><p>x</p>"],
  ["a color without # in quirks mode", '<p style="background:#000;color:FFFFFF">x</p>'],
  ["a font without a unit in quirks mode", '<div style="font-size:0"><p style="font-size:14">x</p></div>'],
  ["an old gradient", '<p style="background:-webkit-linear-gradient(top,#000,#111);color:#fff">x</p>'],
  ["the color of text in Office", '<style>p{color:#fff}</style><p style="color:windowtext">x</p>'],
  ["a display of one browser", '<p style="display:none;display:-webkit-box">x</p>'],
  [
    "a visible part of what is invisible",
    '<div style="visibility:hidden;font-size:0"><b style="visibility:visible;font-size:14px">x</b></div>',
  ],
  ["light text on dark", '<table bgcolor="#000000"><tr><td style="color:white">x</td></tr></table>'],
  ["white text on a picture", '<div style="background:url(a.png);color:white">x</div>'],
  [
    "white text on a picture of a table",
    '<table bgcolor="WHITE" background="a.png"><td style="color:white">x</td></table>',
  ],
  ["attributes with the names of inherited properties", '<p constructor="a" style="constructor:none">x</p>'],
  ["a small indent and margin", '<p style="text-indent:-18pt;margin-left:-20px;position:relative;left:-5px">x</p>'],
  ["colors of the system", '<p style="color:windowtext;background:window">x</p>'],
  ["a variable with a fallback", '<p style="color:var(--text,#333);font-size:var(--size,14px)">x</p>'],
  ["a variable of the page", "<style>:root{--A:#222;--b:var(--A)} p{color:var(--b)}</style><p>x</p>"],
  ["a variable that nobody sets", '<div style="opacity:1"><p style="color:var(--x);opacity:var(--y)">x</p></div>'],
  ["a variable that is no color", '<p style="--x:12;color:var(--x)">x</p>'],
  [
    "sums",
    '<p style="font-size:calc(1rem + 2px);width:calc(100% - 20px);margin-left:calc(50% - 300px);overflow:hidden">x</p>',
  ],
  [
    "the greatest of two",
    '<p style="font-size:max(12px,.5vw);max-height:min(100%,(2 + 3) * 100px);overflow:hidden">x</p>',
  ],
  ["a matrix", '<p style="transform:matrix(1, 0, 0, 1, 10, 20)">x</p>'],
  ["a turned matrix", '<p style="transform:matrix(.87,.5,-.5,.87,0,0)">x</p>'],
  ["transforms", '<p style="transform:translate(-50%,0) scale(.9) rotateY(180deg) skewX(5deg)">x</p>'],
  ["an inset with round corners", '<p style="clip-path:inset(0 round 8px)">x</p>'],
  ["a circle", '<p style="clip-path:circle(50% at 50% 50%)">x</p>'],
  ["a polygon", '<p style="clip-path:polygon(0 0, 100% 0, 100% 85%, 0 100%)">x</p>'],
  ["the box of a clip path", '<p style="clip-path:margin-box">x</p>'],
  ["a clip", '<p style="clip:rect(0,200px,auto,0)">x</p>'],
  ["a mixed color", '<p style="color:color-mix(in srgb, black 60%, white)">x</p>'],
  ["the light of two colors", '<p style="color:light-dark(#111, #eee)">x</p>'],
  ["a mask that fades", '<p style="mask-image:linear-gradient(to right, black 60%, transparent)">x</p>'],
  ["a contained layout", '<div style="contain:layout">x</div>'],
  ["a contained size with a height", '<div style="contain:strict;height:200px">x</div>'],
  ["rows", '<div style="display:grid;grid-template-rows:1fr 0fr"><p style="overflow:hidden">x</p></div>'],
  ["an adjusted font", '<p style="font-size-adjust:.5">x</p>'],
  ["an adjusted font, by its capitals", '<p style="font-size-adjust:cap-height 0.7">x</p>'],
  [
    "a style sheet for printing in its address",
    '<link rel=stylesheet media=print href="data:text/css,p{display:none}"><p>x</p>',
  ],
  ["a style sheet from elsewhere", '<link rel=stylesheet href="https://example.com/a.css"><p>x</p>'],
  ["an open <details>", "<details open><p>x</p></details>"],
  ["the summary of a closed <details>", "<details>a<summary>x</summary>b</details>"],
])("visible text is kept: %s", (_, html) => {
  expect(htmlToText(html)).toBe("x");
});

test.each([
  ["a variable that refers to itself", '<p style="--a:var(--a);opacity:var(--a)">x</p>'],
  ["a function of a browser", '<p style="opacity:env(some-opacity)">x</p>'],
  ["a sum of what a browser knows", '<p style="margin-left:calc(1px * sibling-index())">x</p>'],
  ["a path", "<p style=\"clip-path:path('M0 0 L10 0')\">x</p>"],
  ["a relative color", '<p style="color:rgb(from red r g b)">x</p>'],
  ["a value without end", `<p style="left:${"calc(1px + ".repeat(200)}1px${")".repeat(200)}">x</p>`],
])("what cannot be evaluated is shown, and said: %s", (_, html) => {
  expect(htmlToText(`${html}<p>y</p>`)).toBe("x\n\ny\n\n(some styles could not be read)");
});

test("text is found at any depth", () => {
  expect(htmlToText(`${"<div>".repeat(20_000)}deep`)).toBe("deep");
});
