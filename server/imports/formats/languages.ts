// Converts language names to ISO 639-3 codes. Records have the English name of a language, pyvideo
// files its code.

/**
 * Returns the three-letter code of a language by its English name or by another code. An unknown
 * name is returned as it is.
 */
export function languageCodeByName(name: string): string {
  if (name === 'Undetermined') return 'und'
  if (/^[a-z]{2,3}([-_]|$)/.test(name)) return toThreeLetters(name)
  codes ??= codesByName()
  // Names come before codes in capitals: "Ga" is a language, and not the code of Irish.
  return codes.get(name) ?? (/^[a-z]{2,3}([-_]|$)/i.test(name) ? toThreeLetters(name) : name)
}

/** Returns the English name of a language by its own name, such as Deutsch, or the text as it is. */
export function englishLanguageName(text: string): string {
  codes ??= codesByName()
  if (codes.has(text)) return text
  englishByOwn ??= englishNames()
  return englishByOwn.get(text.toLowerCase()) ?? text
}

let englishByOwn: Map<string, string> | undefined

function englishNames(): Map<string, string> {
  const english = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })
  const pairs = [...threeByTwo.keys()].flatMap((code): [string, string][] => {
    const own = new Intl.DisplayNames([code], { type: 'language', fallback: 'none' }).of(code)
    const name = english.of(code)
    return own && name ? [[own.toLowerCase(), name]] : []
  })
  return new Map(pairs)
}

let codes: Map<string, string> | undefined

// Computed at the first use, because it takes some milliseconds.
function codesByName(): Map<string, string> {
  const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })
  const codeByName = new Map<string, string>()
  for (const code of [...regions, ...threeLettersOnly, ...threeByTwo.keys()])
    codeByName.set(names.of(code) ?? code, toThreeLetters(code))
  return codeByName
}

function toThreeLetters(code: string): string {
  // Nearly always the code has three letters already, and Intl is slow.
  return threeLetterCodes.has(code) ? code : convertCode(code)
}

function convertCode(code: string): string {
  try {
    const [language = code] =
      Intl.getCanonicalLocales(code.replaceAll('_', '-'))[0]?.split('-') ?? []
    return threeByTwo.get(language) ?? language
  } catch {
    return code
  }
}

const words = (text: string) => text.trim().split(/\s+/)

/** Two-letter codes with their three-letter codes. */
const threeByTwo = new Map(
  words(`
    aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak
    be:bel bg:bul bh:bho bi:bis bm:bam bn:ben bo:bod br:bre bs:bos ca:cat ce:che ch:cha co:cos
    cr:cre cs:ces cu:chu cv:chv cy:cym da:dan de:deu dv:div dz:dzo ee:ewe el:ell en:eng eo:epo
    es:spa et:est eu:eus fa:fas ff:ful fi:fin fj:fij fo:fao fr:fra fy:fry ga:gle gd:gla gl:glg
    gn:grn gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo hr:hrv ht:hat hu:hun hy:hye hz:her ia:ina
    id:ind ie:ile ig:ibo ii:iii ik:ipk io:ido is:isl it:ita iu:iku ja:jpn jv:jav ka:kat kg:kon
    ki:kik kj:kua kk:kaz kl:kal km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir
    la:lat lb:ltz lg:lug li:lim ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mri mk:mkd
    ml:mal mn:mon mr:mar ms:msa mt:mlt my:mya na:nau nb:nob nd:nde ne:nep ng:ndo nl:nld nn:nno
    no:nor nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus
    pt:por qu:que rm:roh rn:run ro:ron ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag si:sin
    sk:slk sl:slv sm:smo sn:sna so:som sq:sqi sr:srp ss:ssw st:sot su:sun sv:swe sw:swa ta:tam
    te:tel tg:tgk th:tha ti:tir tk:tuk tn:tsn to:ton tr:tur ts:tso tt:tat ty:tah ug:uig uk:ukr
    ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho yi:yid yo:yor za:zha zh:zho zu:zul
  `).map((pair) => pair.split(':') as [string, string]),
)

/** Languages that have only a three-letter code. */
const threeLettersOnly = words(`
  ace ach ada ady aeb afh agq ain akk akz ale aln alt ang ann anp arc arn aro arp arq ars arw ary
  arz asa ase ast atj avk awa bal ban bar bas bax bbc bbj bej bem bew bez bfd bfq bgc bgn bik bin
  bjn bkm bla blo blt bpy bqi bra brh brx bss bua bug bum byn byv cad car cay cch ccp ceb cgg chb
  chg chk chm chn cho chp chr chy cic ckb clc cop cps crg crh crj crk crl crm crr crs csb csw dak
  dar dav del den dgr din dje doi dsb dtp dua dum dyo dyu dzg ebu efi egl egy eka elx enm esu ewo
  ext fan fil fit fon frc frm fro frp frr frs fur gaa gag gan gay gba gbz gez gil glk gmh goh gon
  gor got grb grc gsw guc gur guz gwi hai hak haw hax hif hil hit hmn hnj hsb hsn hup hur iba ibb
  ikt ilo inh izh jam jbo jgo jmc jpr jrb jut kaa kab kac kaj kam kaw kbd kbl kcg kde kea kek ken
  kfo kgp kha kho khq khw kiu kkj kln kmb koi kok kos kpe krc kri krj krl kru ksb ksf ksh kum kut
  kwk kxv lad lag lah lam lez lfn lij lil liv lkt lmo lol lou loz lrc lsm ltg lua lui lun luo lus
  luy lzh lzz mad maf mag mai mak man mas mde mdf mdr men mer mfe mga mgh mgo mic min mnc mni moe
  moh mos mrj mua mus mwl mwr mwv mye myv mzn nan nap naq nds new nia niu njo nmg nnh nog non nov
  nqo nso nus nwc nym nyn nyo nzi ojb ojc ojs ojw oka osa ota pag pal pam pap pau pcd pcm pdc pdt
  peo pfl phn pis pms pnt pon pqm prg pro quc qug raj rap rar rgn rhg rif rof rom rtm rue rug rup
  rwk sad sah sam saq sas sat saz sba sbp scn sco sdc sdh see seh sei sel ses sga sgs shi shn shu
  sid slh sli sly sma smj smn sms snk sog srn srr ssy stq str suk sus sux swb syc syr szl tce tcy
  tem teo ter tet tgx tht tig tiv tkl tkr tlh tli tly tmh tog tok tpi tru trv trw tsd tsi ttm ttt
  tum tvl twq tyv tzm udm uga umb vai vec vep vls vmf vmw vot vro vun wae wal war was wbp wuu xal
  xmf xnr xog yao yap yav ybb yrl yue zap zbl zea zen zgh zun zza
`)

const threeLetterCodes = new Set(['und', ...threeByTwo.values(), ...threeLettersOnly])

/** Regional variants with names of their own. Their three-letter codes have no region. */
const regions = words(`
  pt-BR pt-PT en-US en-GB en-AU en-CA es-419 es-ES es-MX fr-CA fr-CH de-AT de-CH nl-BE zh-Hans
  zh-Hant sr-ME ro-MD ar-001 fa-AF sw-CD hi-Latn
`)
