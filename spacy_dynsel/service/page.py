"""The page on which a pipeline can be tried. It asks its own server and nobody else."""

import json
from html import escape

from ..report.drawing import ENTITY_STYLE, TREE_STYLE
from ..report.page import BASE_STYLE

EXAMPLES = {
    "en": "Barack Obama told the new boss of Apple in Paris that the old band hits the road.",
    "pt": "A banda toca em Lisboa, e o novo disco chega amanhã às lojas do Porto.",
}
# What the slider of the margin steps through. The last one is for all templates.
MARGINS = (0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, "all")


def render_page(name: str, lang: str, branches: int | None, nonce: str) -> str:
    """The page.

    name (str), lang (str): The pipeline and its language.
    branches (int): How many branches its parser tries; None without a parser.
    nonce (str): What the script is known by.
    """
    page = PAGE
    filled = {
        "@name@": escape(name),
        "@lang@": escape(lang),
        "@style@": BASE_STYLE + ENTITY_STYLE + TREE_STYLE + STYLE,
        "@text@": escape(EXAMPLES.get(lang, "")),
        "@nonce@": escape(nonce),
        "@margins@": json.dumps(MARGINS),
        "@last@": str(len(MARGINS) - 1),
        "@usual@": str(MARGINS.index(1)),
        "@branches@": str(branches or 0),
        "@hidden@": "hidden" if branches is None else "",
    }
    for mark, value in filled.items():
        page = page.replace(mark, value)
    return page


STYLE = """\
:root { --hot: hsl(28 90% 60%); --cold: hsl(28 90% 97%); --edge: hsl(28 40% 80%);
  --deep: -37%; --base: 97%; --strength: 90%; --accent: #1b6ca8; }
@media (prefers-color-scheme: dark) {
  :root { --hot: hsl(28 75% 33%); --cold: hsl(28 20% 13%); --edge: hsl(28 20% 32%);
    --deep: 20%; --base: 13%; --strength: 75%; --accent: #6cb4ee; } }
body { max-width: 70rem; }
h1 { font-size: 1.25rem; margin: 0 0 .6rem; } h1 small { color: var(--soft); font-weight: 400; }
h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
textarea { width: 100%; box-sizing: border-box; min-height: 5.2rem; padding: .6rem; font: inherit;
  color: inherit; background: var(--ground); border: 1px solid var(--axis); border-radius: .4rem; }
.knobs { display: grid; grid-template-columns: 1fr 1fr; gap: .4rem 1.5rem; margin: .6rem 0; }
.knobs label { display: block; } .knobs input { width: 100%; accent-color: var(--accent); }
.knobs output { font-weight: 600; } [hidden] { display: none !important; }
.figures { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; margin: .6rem 0; padding: 0; list-style: none; }
.figures b { font-variant-numeric: tabular-nums; font-size: 1.15rem; }
.note { color: var(--soft); margin: .3rem 0; font-size: .9rem; }
.scale { display: inline-block; width: 6rem; height: .7rem; margin: 0 .4rem; vertical-align: middle;
  border: 1px solid var(--edge); background: linear-gradient(to right, var(--cold), var(--hot)); }
.words { display: flex; flex-wrap: wrap; gap: .35rem; }
.word { font: inherit; color: inherit; padding: .15rem .45rem .25rem; border-radius: .3rem; cursor: pointer;
  border: 1px solid var(--edge); text-align: center;
  background: hsl(28 var(--strength) calc(var(--base) + var(--deep) * var(--share))); }
.word:focus-visible, .word[aria-pressed=true] { outline: 2px solid var(--accent); }
.word b { display: block; font-weight: 500; white-space: pre; }
.word i { display: block; font: normal .72rem ui-monospace, monospace; }
.word.changed { border-style: dashed; border-color: var(--accent); }
#error { color: #b3261e; font-weight: 600; }
@media (prefers-color-scheme: dark) { #error { color: #f2b8b5; } }
#why { border: 1px solid var(--axis); border-radius: .4rem; padding: .2rem 1rem .6rem; margin-top: .8rem; }
#why h3 { font-size: .95rem; margin: .7rem 0 0; } #why p { margin: .1rem 0; }
#why table { border-collapse: collapse; font: .78rem ui-monospace, monospace; }
#why th, #why td { text-align: start; padding: .05rem .9rem .05rem 0; } #why th { color: var(--soft); }
@media (max-width: 36rem) { body { margin: 1rem auto; padding: 0 .7rem; } .knobs { grid-template-columns: 1fr; } }
"""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>@name@</title>
<link rel="icon" href="data:,">
<style>
@style@</style>
</head>
<body>
<h1>@name@ <small>on this machine</small></h1>
<textarea id="text" lang="@lang@" dir="auto" aria-label="Text" spellcheck="false">@text@</textarea>
<div class="knobs">
<label>Margin: <output id="margin-value"></output>
<input id="margin" type="range" min="0" max="@last@" step="1" value="@usual@"></label>
<label @hidden@>Branches: <output id="branches-value"></output>
<input id="branches" type="range" min="0" max="24" step="1" value="@branches@"></label>
</div>
<ul class="figures" aria-live="polite">
<li><b id="latency">&ndash;</b> &micro;s</li>
<li><b id="templates">&ndash;</b> templates a word</li>
<li><b id="changed">&ndash;</b> <span id="changed-name">differ from all templates</span>
(<span id="full">&ndash;</span> &micro;s)</li>
</ul>
<p id="error" role="alert" hidden></p>
<p class="note">Decided early<span class="scale"></span>with all templates. Select a word to see
what decided. A dashed border: all templates would say something else.</p>
<div id="words" class="words" dir="auto"></div>
<section id="why" hidden aria-live="polite"></section>
<section id="entities-part" hidden><h2>Entities</h2><div id="entities"></div></section>
<section id="trees-part" hidden><h2>Dependencies</h2><div id="trees"></div></section>
<script nonce="@nonce@">
"use strict";
const MARGINS = @margins@;
const find = (id) => document.getElementById(id);
let timer = 0, asked = 0, chosen = -1;

function values() {
  return { text: find("text").value, margin: MARGINS[find("margin").value],
    branches: find("branches").closest("label").hidden ? null : Number(find("branches").value) };
}
function showKnobs() {
  const margin = MARGINS[find("margin").value];
  find("margin-value").textContent = margin === "all" ? "all templates" : margin + " \\u00d7 usual";
  const n = find("branches").value;
  find("branches-value").textContent = n === "0" ? "none, greedy" : n;
}
async function ask(path, body) {
  const answer = await fetch(path, { method: "POST", body: JSON.stringify(body),
    headers: { "content-type": "application/json" } });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error || answer.statusText);
  return found;
}
function element(name, text, parent) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}
function showError(error) {
  find("error").hidden = !error;
  find("error").textContent = error ? error.message : "";
}
async function annotate() {
  const mine = ++asked;
  showKnobs();
  try {
    const found = await ask("/view", values());
    if (mine !== asked) return;
    showError(null);
    show(found);
    if (chosen >= 0 && chosen < found.tokens.length) explain(chosen);
    else find("why").hidden = true;
  } catch (error) { if (mine === asked) showError(error); }
}
function show(found) {
  find("latency").textContent = found.microseconds;
  find("full").textContent = found.full_microseconds;
  find("templates").textContent = found.templates;
  find("changed").textContent = found.changed.length;
  const words = find("words");
  words.replaceChildren();
  found.tokens.forEach((token, i) => {
    const word = element("button", undefined, words);
    word.className = "word";
    word.type = "button";
    word.style.setProperty("--share", found.shares[i]);
    element("b", token.text.trim() ? token.text : "\\u2423", word);
    element("i", [token.pos || token.tag, token.pos ? token.tag : ""].filter(Boolean).join(" "), word);
    element("i", token.lemma, word);
    const other = found.changed.filter((one) => one.token === i);
    if (other.length) {
      word.classList.add("changed");
      word.title = other.map((one) => one.what + " with all templates: " + one.all).join("\\n");
    }
    word.setAttribute("aria-pressed", String(i === chosen));
    word.addEventListener("click", () => { chosen = chosen === i ? -1 : i; press(); });
  });
  // Drawings come escaped from the server.
  find("entities").innerHTML = found.entities_html;
  find("entities-part").hidden = !found.entities_html;
  find("trees").innerHTML = found.trees_html.map((tree) => '<div class="wide" tabindex="0">' + tree + "</div>").join("");
  find("trees-part").hidden = !found.trees_html.length;
}
function press() {
  [...find("words").children].forEach((word, i) => word.setAttribute("aria-pressed", String(i === chosen)));
  if (chosen < 0) find("why").hidden = true; else explain(chosen);
}
async function explain(token) {
  try {
    const { explained } = await ask("/explain", { ...values(), token });
    if (token !== chosen) return;
    const why = find("why");
    why.replaceChildren();
    for (const one of explained) {
      element("h3", one.component, why);
      element("p", one.summary, why);
      if (!one.reasons.length) continue;
      const wide = element("div", undefined, why);
      wide.className = "wide";
      const table = element("table", undefined, wide);
      const head = element("tr", undefined, table);
      one.header.forEach((cell) => element("th", cell, head));
      for (const row of one.reasons) {
        const line = element("tr", undefined, table);
        row.forEach((cell) => element("td", cell, line));
      }
    }
    why.hidden = false;
  } catch (error) { showError(error); }
}
function soon() { clearTimeout(timer); timer = setTimeout(annotate, 120); }
for (const id of ["text", "margin", "branches"]) find(id).addEventListener("input", () => {
  if (id === "text") chosen = -1;
  showKnobs();
  soon();
});
annotate();
</script>
</body>
</html>
"""
