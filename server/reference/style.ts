// The stylesheet of the reference. It is inlined and allowed by its hash, so that the pages load no
// other resources.

export const referenceStyle = `
:root {
  color-scheme: light dark;
  --paper: #fff; --shade: #f6f5f1; --line: #e3e1da; --ink: #22262e; --soft: #5c636f;
  --link: #0b5f8a; --mark: #fff4cf;
  --get: #1a6b3c; --post: #1d58a8; --put: #8f4a06; --patch: #6d3fa5; --bad: #a52a2a;
  --sans: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15181d; --shade: #1d2127; --line: #30363f; --ink: #dfe3e8; --soft: #9aa3af;
    --link: #7cc4ea; --mark: #3a3418;
    --get: #79cf9b; --post: #8bbcf5; --put: #eab06c; --patch: #c7a6f2; --bad: #f2938f;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
body {
  margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 var(--sans);
  overflow-wrap: break-word;
}
a { color: var(--link); text-decoration-thickness: 1px; text-underline-offset: .2em; }
a:hover { text-decoration-thickness: 2px; }
a:focus-visible, summary:focus-visible, pre:focus-visible, button:focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px; border-radius: 3px;
}
code, pre { font-family: var(--mono); font-size: .875em; }
pre code { font-size: inherit; }
p code, li code, td code { background: var(--shade); border-radius: 3px; padding: .1em .3em; }
a code { background: none; padding: 0; }
h1, h2, h3, h4 { line-height: 1.25; margin: 0; text-wrap: balance; }
h1 { font-size: clamp(1.75rem, 1.4rem + 1.6vw, 2.5rem); letter-spacing: -.02em; }
h2 { font-size: 1.5rem; letter-spacing: -.01em; }
h3 { font-size: 1.2rem; }
h4, .part {
  font-size: .8rem; margin: 1.75rem 0 .5rem; color: var(--soft); font-weight: 600;
  letter-spacing: .04em; text-transform: uppercase;
}
p, ul { margin: .75rem 0; }
ul { padding-left: 1.25rem; }
.lead { font-size: 1.125rem; color: var(--soft); max-width: 44rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: .5rem; z-index: 2; background: var(--paper); padding: .5rem; }

.bar {
  position: sticky; top: 0; z-index: 1; display: flex; align-items: center; gap: 1.25rem;
  min-height: 3.5rem;
  padding: 0 1rem; background: var(--paper); border-bottom: 1px solid var(--line);
  font-size: .9375rem;
}
.bar a { text-decoration: none; }
.bar a:hover { text-decoration: underline; }
.brand {
  display: flex; align-items: center; gap: .6rem; margin-right: auto; color: var(--ink);
  font-weight: 650; white-space: nowrap;
}
.brand svg { width: 1.5rem; height: 1.5rem; fill: currentcolor; }
.brand span { color: var(--soft); font-weight: 400; }

.layout { max-width: 92rem; margin: 0 auto; padding: 0 1rem; }
.hero { padding: 2rem 0 1rem; }
main { min-width: 0; padding-bottom: 2rem; }
main section { border-top: 1px solid var(--line); padding: 2.5rem 0; }
.group { border-top: 3px solid var(--line); padding-top: 2.5rem; }
main .group + section { border-top: 0; padding-top: 1.5rem; }
.alone { max-width: 52rem; padding-top: 2rem; }
:target > .say > h2, :target > .say > h3 {
  background: var(--mark); box-shadow: 0 0 0 .3rem var(--mark); border-radius: 2px;
}
.anchor { color: inherit; text-decoration: none; }
.anchor:hover::after, .anchor:focus-visible::after {
  content: ' #'; color: var(--soft); font-weight: 400;
}

nav { font-size: .9375rem; padding-bottom: 2rem; }
nav h2 {
  font-size: .8rem; margin: 1.25rem 0 .25rem; color: var(--soft); letter-spacing: .04em;
  text-transform: uppercase;
}
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a {
  display: flex; gap: .6rem; padding: .3rem 0; color: var(--ink); text-decoration: none;
  line-height: 1.4;
}
nav li a:hover { color: var(--link); text-decoration: underline; }
nav .method { flex: 0 0 2.9rem; font-size: .6875rem; line-height: 1.9; }

.method { font: 700 .8125rem/1.5 var(--mono); letter-spacing: .02em; }
.get { color: var(--get); } .post { color: var(--post); }
.put { color: var(--put); } .patch { color: var(--patch); }
.route {
  display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem .75rem; margin: .75rem 0;
}
.route code { font-size: .9375rem; overflow-wrap: anywhere; background: none; padding: 0; }
.route i { font-style: normal; color: var(--put); }
.role {
  font-size: .8125rem; color: var(--soft); border: 1px solid var(--line); border-radius: 1rem;
  padding: 0 .65rem; white-space: nowrap;
}

table {
  width: 100%; table-layout: fixed; border-collapse: collapse; font-size: .9375rem;
  line-height: 1.5;
}
th {
  text-align: left; font-size: .8125rem; font-weight: 600; color: var(--soft);
  padding: .35rem 1rem .35rem 0; border-bottom: 1px solid var(--line);
}
td { vertical-align: top; padding: .55rem 1rem .55rem 0; border-bottom: 1px solid var(--line); }
tr > :last-child { padding-right: 0; }
td:first-child code { font-weight: 600; background: none; padding: 0; }
.fields th:first-child { width: 35%; }
.fields th:nth-child(2) { width: 32%; }
.pairs { table-layout: auto; }
.pairs td:first-child { width: 1%; white-space: nowrap; }
.pairs a { text-decoration: none; }
.pairs a:hover { text-decoration: underline; }
.pairs b { display: inline-block; width: 2.5rem; }
h3 + table { margin-top: .75rem; }
small { display: block; font-size: .8125rem; color: var(--soft); }
small.required { color: var(--bad); }
summary { cursor: pointer; color: var(--link); padding: .35rem 0; }

.chips { display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; margin: 0; padding: 0; }
.chips a {
  display: block; border: 1px solid var(--line); border-radius: 4px; padding: .1rem .5rem;
  font-size: .875rem; text-decoration: none;
}
.chips a:hover { border-color: var(--link); }
.chips b, .pairs b, .status { font: 600 .8125rem/1.5 var(--mono); color: var(--bad); }
.status.good { color: var(--get); }

.warning {
  padding: .5rem .8rem; border-left: 4px solid var(--bad); background: var(--shade);
}
figure {
  margin: 1.5rem 0 0; border: 1px solid var(--line); border-radius: 6px; overflow: hidden;
  background: var(--shade);
}
figcaption {
  display: flex; justify-content: space-between; align-items: center; gap: .75rem;
  min-height: 2.25rem; padding: .2rem .4rem .2rem .9rem; border-bottom: 1px solid var(--line);
  font-size: .8125rem; color: var(--soft);
}
figcaption button {
  flex: none; min-height: 1.75rem; padding: 0 .6rem; border: 1px solid var(--line);
  border-radius: 4px; background: var(--paper); color: var(--link); font: inherit; cursor: pointer;
}
figcaption button:hover { border-color: var(--link); }
pre {
  margin: 0; padding: .8rem .9rem; overflow: auto; font-size: .8125rem; line-height: 1.6;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
pre, nav { scrollbar-width: thin; scrollbar-color: var(--line) transparent; }
pre.sample { max-height: 22rem; }
pre.command { white-space: pre; -webkit-user-select: all; user-select: all; }
footer {
  border-top: 1px solid var(--line); margin-top: 2.5rem; padding: 1.5rem 0; color: var(--soft);
  font-size: .875rem;
}

@media (max-width: 40rem) {
  .fields thead { position: absolute; left: -99rem; }
  .fields, .fields tbody { display: block; }
  .fields tr {
    display: grid; grid-template-columns: auto 1fr; column-gap: .75rem; padding: .6rem 0;
    border-bottom: 1px solid var(--line);
  }
  .fields td { padding: 0; border: 0; min-width: 0; }
  .fields td, .pairs td { overflow-wrap: anywhere; }
  .fields td:nth-child(3) { grid-column: 1 / -1; }
  .fields small { display: inline; margin-right: .4rem; }
  .pairs, .pairs tbody, .pairs tr, .pairs td { display: block; border: 0; }
  .pairs tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .pairs td, .pairs td:first-child { width: auto; padding: 0; white-space: normal; }
}
@media (min-width: 54rem) {
  .layout {
    display: grid; grid-template: 'contents hero' auto 'contents main' 1fr / 16rem minmax(0, 1fr);
    column-gap: clamp(2rem, 4vw, 3.5rem); padding: 0 2rem;
  }
  .bar { padding: 0 max(2rem, (100% - 92rem) / 2 + 2rem); }
  .contents-link { display: none; }
  nav {
    grid-area: contents; position: sticky; top: 3.5rem; align-self: start;
    max-height: calc(100vh - 3.5rem); overflow-y: auto;
    padding: 1rem .5rem 2rem 0; font-size: .875rem;
  }
  .hero { grid-area: hero; padding: 3rem 0 2.5rem; }
  main { grid-area: main; }
}
@media (min-width: 76rem) {
  .two {
    display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); gap: 3rem;
    align-items: start;
  }
  .show { position: sticky; top: 5rem; }
  .show > figure { margin-top: .25rem; }
  .show pre { max-height: calc(100vh - 9rem); }
  .show pre.sample { max-height: min(22rem, 45vh); }
}
@media print { .bar, nav, figcaption button { display: none; } .show { position: static; } }
`
