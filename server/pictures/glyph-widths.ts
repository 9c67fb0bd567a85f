// Widths of characters outside of the Latin and East Asian scripts: the advance widths of Noto Sans
// Bold (tables cmap and hmtx of its fonts, Debian package fonts-noto-core). Letters that join or
// form conjuncts become narrower, so the sum is an upper bound. cover.test.ts compares it with
// rendered text.

/** Unit of the widths, in em. A digit holds the widest letter, which has 2.5 em. */
const unit = 0.045
const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

/**
 * The first character of each block, and a digit for each of its characters: the rounded width. A
 * full stop stands for a character that the font does not have.
 */
const blocks: readonly (readonly [first: number, widths: string])[] = [
  // Greek
  [
    0x0370,
    'bafd66ig..dbbb67....ddg6fkc.j.ij9ffcfcdhi9felidihe.ddejfjh9eecf9eefdecbfe9eefdbe' +
      'gebfceidjj9eeejfegeieimeieebccbcdb..............eeb7icbeeelieeee',
  ],
  // Cyrillic
  [
    0x0400,
    'ccicfc997mmififhfefchcleiifhlhiheedfjfhgopgkefofdeebfdjcggeejfeeebcdidffmmgjebjd' +
      'ddfbcb777kkfegdflkffligemkieokecjjiegdgdtqjfollkfce0000000kieeeedbcbgdnlechffefe' +
      'gfjhjhpkhfebdcededheliiggfgflglg9ljhfjghfjhgfnl9fdfdlkcdididljecddigigieieiefbfd' +
      'fdfdgfcbkjcbgefd',
  ],
  // Armenian
  [
    0x0530,
    '.jghhgfeglhgakggefhgieffgejfigidffejfih..55676a9mmeggeebehfe7meedffee7eae8mcfeem' +
      'ee9meehf86a..iih',
  ],
  // Hebrew
  [
    0x0590,
    '.00000000000000000000000000000000000000000000070b00600a0........fd9df88ff7dccgg8' +
      '9fefeddfchg.....fgg5a',
  ],
  // Arabic, 10 % less: most letters are joined
  [
    0x0600,
    'mtmrJpddkfka67kd000000000007c.5ag955a5g5l9lleeeaa88rrtthhcciiggg5lgjebe9agg00000' +
      '000000000000000076bdacbddbb55alg055549acilllllllleeeeeeeaaaaaaaaa888888888rrrtth' +
      'cllllllggilijjjiiiiiieeeeeeeeefe9999aaaaaaaagkgaggjj690000000rk0000004700d0000a8' +
      '76bdbd9ddbrtc9bf',
  ],
  // Devanagari
  [
    0x0900,
    '0006jjpccdikheeeeppppikeeffhiiiceediegcfeeeieheeaagiidhehd070c777000000007777077' +
      'n0000000ikeiediekh009edddddddddda7jjppjjdieeibee',
  ],
  // Bengali
  [
    0x0980,
    'd0aa.lsdggkle..ik..hljhgfhdgmjodegdeggeee.hkehefe.h...gfgd..0d7770000..99..mm0d.' +
      '.......7....gd.fle00..eeeeeeeeeeeeefegh7gbg7da0',
  ],
  // Gurmukhi
  [
    0x0a00,
    '.00a.iokkgg....ei..gifejiegffddegegedefef.eefeehe.gg.de.ee..0.67700....00..000..' +
      '.0.......ejfe.e.......dddddddddd00egz07',
  ],
  // Gujarati
  [
    0x0a80,
    '.006.lrffflkhl.llr.rrcigfcghkhgbccckefbee.dcijeeb.gi.egehf..0b66600000.006.660..' +
      'm...............mh00..dddddddddd9j.......k000000',
  ],
  // Oriya
  [
    0x0b00,
    '.07b.hmjjjlje..gm..hmihhhighigighhhhhhihh.hlhkhji.kj.hhhgh..095080000..dt..tt0..' +
      '......05....hh.kje00..ddddddddddhh7bgbef',
  ],
  // Tamil
  [
    0x0b80,
    '..8m.rwrjoB...kkp.ppPk...qi.p.uh...Fk...kui...lnfmpqlptywE....f70ck...mht.GBR0..' +
      's......q..............fkoonqpkrummoovVpwNqt',
  ],
  // Telugu
  [
    0x0c00,
    '07c70kkgnkryl.hhi.iiidiepijjitnjeiikkhhhh.hhiiptekhgkhehhp...e6008gag.000.8880..' +
      '.....00.jih.....Fu09..ggidghgeig.......pf7cheeei',
  ],
  // Kannada
  [
    0x0c80,
    'e0e8plliouDsi.jjj.jjjekgojkljvokgjjmfiiih.jjkkrvfmih.jgkhj..0bb8j8i3b.0b4.itb8..' +
      '.....b4.......l.Di22..ffffffffff.dk',
  ],
  // Malayalam
  [
    0x0d00,
    '00b8eBFnGhzmt.vvN.jvBqpmxqnxmFAeguxxpmgmmpmswgipihlhgopsuth00cd668866.ifz.zvF00u' +
      '....gpiiusqoBNyxmx00..emlqjouinrpmyinuxGRrBqiuqu',
  ],
  // Sinhala
  [
    0x0d80,
    '.0b7.gpooightuFqCjjykkx...nlljlpjiixurmikkksomiekm.hijkmkkjg.k..jlijmij...0....8' +
      '78000.0.bfmussxd......9krziel9gr..ldt',
  ],
  // Thai
  [
    0x0e00,
    '.eddefedceddlleedellefeeceeeffggeeecedebffdegddc80aa0000000....d8e888ae00000000e' +
      'dcedccchdcik',
  ],
  // Lao
  [
    0x0e80,
    '.ed.e..9d.d..d......eeeg.eeegggg.eed.e.d..eg.edd8088000000.00d..7d888.e.000000..' +
      'ddddeeeeeh..lmee',
  ],
  // Myanmar
  [
    0x1000,
    'pgfpfgpgkfofffguppfgcgfgpfpgpgppfnpovffehwT790000e0000009007700yfegeehhefh7cfnft' +
      'ffffef8900ekff000g8f9gfa9aaaaauoo0000gggppopoongpf08d00999a9g0g9hefghhgcff99a09n',
  ],
  // Georgian
  [
    0x10a0,
    'ejhhfkhlbgmihkjhmfeikfhggggledgfmhfggj.d.....d..deekddekddpeejdejehekdjeeegeeeed' +
      'dgeddfldeebd8dee',
  ],
  // Ethiopic
  [
    0x1200,
    'ehddehjlfgiejglhilliniilnrnmpmmmknkkmmkkcedfecffehhejeegehhejfeggggfggggj.mggm..' +
      'ggggghf.j.lggm..ehhejhegehhejgegeeeefeeeeeeeegfedffdheiik.ifhj..accccdfedhgegege' +
      'dghdiedgfhhfjffhn.kgjk..jlljnjj.r.pkno..ilhhhlhldggehdd.dggdigdfjjjjlkjjbcfcghfi' +
      'ekliihghelliihghellhjggkeggeihefl.keik..ehgeiifhoqqospoqqqqqvrqqehieigegehieigeh' +
      'dgccdddfffhfjfhfeeeefefefph..000i6c999e6fdddddddedbfefdfeiddh',
  ],
  // Khmer
  [
    0x1780,
    'fffmfffftmfffmtffefffffffm8m9ffmmkffmflffiffgfgfffef77700000000rr777pp0960000000' +
      '0000dhbdLgv9g0..ffjkfffjff......9a4ha96e6a',
  ],
]

const widths = new Map(
  blocks.flatMap(([first, block]) =>
    [...block].flatMap((digit, index): [number, number][] =>
      digit === '.' ? [] : [[first + index, digits.indexOf(digit) * unit]],
    ),
  ),
)

/** Returns the width of a character in em; undefined if it is in none of the blocks. */
export function glyphWidth(codePoint: number): number | undefined {
  return widths.get(codePoint)
}
