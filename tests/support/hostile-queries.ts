// Hostile search queries.

const words = ['python', 'async', 'data', 'web', 'test', 'machine', 'learning', 'introduction']
/** Returns a word that many talks have. */
export const pickWord = (index: number) => words[index % words.length] as string

/** Characters with a meaning for some parser. */
export const signs = [
  '&',
  '|',
  '!',
  '<->',
  '<2>',
  ':*',
  ':A',
  '(',
  ')',
  "'",
  '"',
  '\\',
  '%',
  '_',
  '*',
  '?',
  '+',
  '^',
  '$',
  '[',
  ']',
  '{',
  '}',
  '#',
  ';',
  '--',
  '/*',
  '-',
  '~',
]

/** Unusual queries that must be accepted. */
export const hostileQueries: Record<string, string> = {
  'maximum length': 'python '.repeat(42).slice(0, 300),
  'one long word': 'x'.repeat(300),
  'one letter': 'a',
  'letters alone': 'a b c d e f g h i j k l m n o p q r s t u v w x y z',
  'only punctuation': signs.join(''),
  'only spaces': '   \t\n  ',
  'a tsquery': "'python' & ('async' | !'data') <-> test:*A",
  'a broken tsquery': "python & | ! ( <-> :* '",
  SQL: "'; drop table video; --",
  'SQL in a phrase': `"'; select pg_sleep(10); --"`,
  'a regular expression': '(a+)+$ ^(([a-z])+.)+[A-Z]([a-z])+$',
  'open quotes': '"python "async "data',
  'every kind of quote': '‘python’ “async” „data“ «web» ‹test› `x` ´y´ 「機械」',
  'exclusions only': '-python -async -data',
  'exclusions of everything': words.map((word) => `-${word}`).join(' '),
  'alternatives only': 'or or or OR | | or',
  'many alternatives': Array.from({ length: 60 }, (_, index) => pickWord(index))
    .join(' or ')
    .slice(0, 300),
  'many phrases': '"python async" '.repeat(30).slice(0, 300),
  'minus signs': '-'.repeat(300),
  quotes: '"'.repeat(300),
  'stop words': 'the of and to a in is it that for on with as was at by an be this',
  'unfinished letters': 'p',
  'marks of direction': '\u202epython\u202c \u200fasync\u200e \u2066data\u2069',
  joiners: 'py\u200dthon \ufeffasync z\u0335\u0336a\u0337l\u0338g\u0321o\u0322',
  emoji: '🐍'.repeat(70),
  'private and unassigned': '\ue000\u{10ffff}\u{e0001}',
  numbers: '1e309 -1 0x7fffffff 99999999999999999999 1.5.2',
  'an address': 'https://user:pass@example.org:80/a/b?c=d#e ../../etc/passwd',
  markup: '<script>alert(1)</script> <b>python</b> &amp; &#x27;',
  'all scripts at once': 'python питон 파이썬 パイソン 蟒蛇 ไพธอน بايثون פייתון πύθων',
  'one character without spaces': '機',
  'a long text without spaces': '機械学習入門'.repeat(50),
  'three hundred characters without spaces': Array.from({ length: 300 }, (_, index) =>
    String.fromCodePoint(0x4e00 + index * 7),
  ).join(''),
  'words that look like filters': 'category:1 language:38 speaker:1 tag:2',
  'a beginning of filters': 'python speak',
  'beginnings of filters': 'categ dur lang speak tag ',
  'a word that normalization lengthens': '\ufdf4'.repeat(300),
  'filters in quotes': "'category:1' & 'language:38'",
  'mistyped a lot': 'pyhton asnyc dtaa mahcine leraning intorduction wbe tset',
}

/** Queries that are refused. */
export const refusedQueries: Record<string, string> = {
  'too long': 'python '.repeat(3000),
  'thousands of operators': '& | ! '.repeat(2000),
  'a NUL': 'python\0async',
  'a control character': 'python\u0007',
}
