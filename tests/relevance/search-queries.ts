// Sixty queries as people type them: words in another order, typing errors, missing accents, a name
// and a topic. They were written from the talks alone, before the search was implemented, and are
// not changed to suit it. If several talks match a query equally well, all of them are listed.

/** A query and its expected talks: one of them must be among the first three results. */
export interface RelevanceQuery {
  readonly query: string
  /** The `file` of each talk in the data. */
  readonly expected: readonly string[]
  readonly kind:
    | 'title'
    | 'half-remembered'
    | 'misspelt'
    | 'speaker'
    | 'topic'
    | 'other language'
    | 'without accents'
    | 'piece of a word'
    | 'phrase'
    | 'event'
}

export const relevanceQueries: readonly RelevanceQuery[] = [
  {
    query: 'make it fast',
    expected: ['odessapy-2018/videos/alexander-solovyov-make-it-fast.json'],
    kind: 'title',
  },
  {
    query: 'colossal cave adventure -browser',
    expected: ['northbaypython-2017/videos/colossal-cave-adventure-in-python.json'],
    kind: 'title',
  },
  {
    query: 'final frontier generator',
    expected: ['pycon-us-2014/videos/generators-the-final-frontier.json'],
    kind: 'half-remembered',
  },
  {
    query: 'doh simpsons time series',
    expected: [
      'pydata-seattle-2017/videos/joe-mccarthy-doh-unevenly-spaced-time-series-analysis-of-the-simpsons-in-pandas.json',
    ],
    kind: 'half-remembered',
  },
  {
    query: 'my light is not working asyncio story',
    expected: [
      'pycon-au-2019/videos/it-s-dark-and-my-lights-aren-t-working-an-asyncio-success-story-jim-mussared-pycon-au-2019.json',
    ],
    kind: 'half-remembered',
  },
  {
    query: 'when is it good to be bad hockey penalty',
    expected: [
      'pycon-us-2016/videos/wendy-grus-when-is-it-good-to-be-bad-web-scraping-and-data-analysis-of-nhl-penalties-pycon-2016.json',
      'pydata-seattle-2015/videos/wendy-grus-when-is-it-good-to-be-bad-how-do-hockey-penalties-affect-the-outcome-of-the-game.json',
    ],
    kind: 'half-remembered',
  },
  {
    query: 'million lines type annotation',
    expected: [
      'pycon-us-2019/videos/michael-sullivan-getting-to-three-million-lines-of-type-annotated-python-pycon-2019.json',
      'pybay-2019/videos/mypy-getting-to-four-million-lines-of-typed-python-michael-sullivan.json',
    ],
    kind: 'half-remembered',
  },
  {
    query: 'code isnt text graph technology',
    expected: [
      'europython-2015/videos/andreas-dewes-code-is-not-text-how-graph-technologies-can-help-us-to-understand-our-code-better.json',
    ],
    kind: 'half-remembered',
  },
  {
    query: 'stop writing class',
    expected: ['pycon-us-2012/videos/stop-writing-classes.json'],
    kind: 'half-remembered',
  },
  {
    query: 'snake and onion tor',
    expected: ['europython-2012/videos/snakes-and-onions-python-developers-and-tor.json'],
    kind: 'half-remembered',
  },
  {
    query: 'flask 2800 tons of metal',
    expected: [
      'pycon-us-2024/videos/open-source-industrial-control-turning-2800-tons-of-metal-with-python-and-flask.json',
    ],
    kind: 'half-remembered',
  },
  {
    query: 'bee hive raspberry pi',
    expected: [
      'pycon-us-2025/videos/detecting-honeybee-swarms-using-the-integration-of-opencv-pandas-ai-pytorch.json',
    ],
    kind: 'topic',
  },
  {
    query: 'guido van rosum tulip',
    expected: ['bay-piggies/videos/guido-van-rossum-on-tulip-january-2014.json'],
    kind: 'misspelt',
  },
  {
    query: 'raymond hetinger dictionaries',
    expected: [
      'pycon-us-2017/videos/raymond-hettinger-modern-python-dictionaries-a-confluence-of-a-dozen-great-ideas-pycon-2017.json',
      'sfpython/videos/modern-dictionaries.json',
    ],
    kind: 'misspelt',
  },
  {
    query: 'brandon rodes duck',
    expected: [
      'pycon-us-2008/videos/using-grok-to-walk-like-a-duck.json',
      'pycon-us-2013/videos/the-naming-of-ducks-where-dynamic-types-meet-sma.json',
      'pycon-us-2014/videos/all-your-ducks-in-a-row-data-structures-in-the-s.json',
    ],
    kind: 'misspelt',
  },
  {
    query: 'jake vanderplaas statistics',
    expected: ['pycon-us-2016/videos/jake-vanderplas-statistics-for-hackers-pycon-2016mp4.json'],
    kind: 'misspelt',
  },
  {
    query: 'hynek schlavak ssl',
    expected: [
      'europython-2014/videos/the-sorry-state-of-ssl-0.json',
      'pycon-pl-2014/videos/pycon-pl-2014-sorry-state-of-ssl-en.json',
      'pycon-ru-2014/videos/the-sorry-state-of-ssl.json',
      'pycon-us-2014/videos/the-sorry-state-of-ssl.json',
      'pycon-us-2016/videos/lvh-cory-benfield-glyph-hynek-schlawack-paul-kehrer-the-hitchhikers-guide-to-tls-ssl.json',
    ],
    kind: 'misspelt',
  },
  {
    query: 'alison kapture bugs',
    expected: [
      'pycon-us-2018/videos/allison-kaptur-love-your-bugs-pycon-2018.json',
      'pythonbrasil-2017/videos/i-love-bugs-keynote-allison-kaptur.json',
    ],
    kind: 'misspelt',
  },
  {
    query: 'lukas langa music',
    expected: [
      'codedive-2019/videos/lukasz-langa-asyncio-and-music.json',
      'europython-2024/videos/live-coding-music-with-pyrepl-in-python-3-13-lukasz-langa.json',
      'pycon-us-2020/videos/talk-lukasz-langa-asyncio-music.json',
    ],
    kind: 'misspelt',
  },
  {
    query: 'nina zakarenko',
    expected: [
      'djangocon-2014/videos/angularjs-django-a-perfect-match.json',
      'djangocon-2014/videos/django-rest-api-so-easy-you-can-learn-it-in-25.json',
      'djangocon-us-2018/videos/djangocon-us-2018-code-review-skills-for-pythonistas-by-nina-zakharenko.json',
      'djangocon-us-2019/videos/djangocon-2019-goodbye-print-hello-debugger-by-nina-zakharenko.json',
      'europython-2018/videos/nina-zakharenko-code-review-skills-for-pythonistas.json',
      'montreal-python/videos/technical-debt-the-code-monster-in-everyone-s-closet-mp53.json',
      'north-bay-python-2018/videos/memory-management-in-python-the-basics.json',
      'pycascades-2019/videos/nina-zakharenko-light-up-your-life-with-python-and-leds.json',
      'pycascades-2021/videos/closing-session-seb-vetter-nina-zakharenko-pycascades-2021.json',
      'pycascades-2021/videos/core-python-devs-on-how-covid-has-changed-core-python-development.json',
      'pycascades-2021/videos/welcome-to-pycascades-remote-seb-vetter-nina-zakharenko-pycascades-2021.json',
      'pycon-au-2019/videos/goodbye-print-statements-hello-debugger-nina-zakharenko-pycon-au-2019.json',
      'pycon-ca-2017/videos/elegant-solutions-for-everyday-python-problems-nina-zakharenko.json',
      'pycon-ru-2017/videos/elegant-solutions-for-everyday-python-problems.json',
      'pycon-us-2015/videos/technical-debt.json',
      'pycon-us-2016/videos/nina-zakharenko-memory-management-in-python-the-basics-pycon-2016.json',
      'pycon-us-2018/videos/nina-zakharenko-elegant-solutions-for-everyday-python-problems-pycon-2018.json',
      'pycon-us-2019/videos/nina-zakharenko-keynote-pycon-2019.json',
      'pycon-us-2020/videos/goodbye-print-hello-debugger-nina-zakharenko-talk.json',
      'pycon-us-2021/videos/talk-nina-zakharenko-more-fun-with-hardware-and-circuitpython-iot-wearables-and-more.json',
      'pycon-us-2023/videos/why-you-should-care-about-open-source-supply-chain-security.json',
      'pyparis-2018/videos/pyparis-2018-technical-dept-the-code-monster-in-your-closet-keynote-by-nina-zakharenko.json',
    ],
    kind: 'misspelt',
  },
  {
    query: 'metaprograming declaritive api',
    expected: ['pycon-au-2011/videos/say-what-you-mean-meta-programming-a-declarative.json'],
    kind: 'misspelt',
  },
  {
    query: 'airlfow kuberentes jw player',
    expected: [
      'pydata-eindhoven-2019/videos/rik-heijdens-airflow-and-kubernetes-at-jw-player-a-match-made-in-heaven-pydata-eindhoven-2019.json',
    ],
    kind: 'misspelt',
  },
  {
    query: 'asyncoi home automation',
    expected: ['europython-2014/videos/using-asyncio-aka-tulip-for-home-automation.json'],
    kind: 'misspelt',
  },
  {
    query: 'djnago elasticsaerch invalidation',
    expected: ['pygotham-2019/videos/django-elasticsearch-without-invalidation-logic.json'],
    kind: 'misspelt',
  },
  {
    query: 'нагрузочное тестирование яндекс танк',
    expected: ['pycon-ru-2014/videos/nagruzochnoe-testirovanie-s-pomoshchiu-iandekstanka.json'],
    kind: 'other language',
  },
  {
    query: 'как упаковать проект на питоне чтобы не стыдно',
    expected: [
      'pycon-ru-2019/videos/nikolai-markov-aligned-research-master-klass-kak-upakovat-pitonoproekt-chtoby-ne-bylo-stydno.json',
    ],
    kind: 'other language',
  },
  {
    query: 'согласованность api микросервисы',
    expected: [
      'pycon-ru-2018/videos/maksim-mazaev-tsian-kak-podderzhivat-soglasovannost-api-v-mikroservisnoi-arkhitekture.json',
    ],
    kind: 'other language',
  },
  {
    query: 'умные квартиры iot',
    expected: [
      'pycon-ru-2019/videos/kirill-borisov-booking-com-slishkom-umnaia-kvartira-iot-python-vse-ostalnoe.json',
    ],
    kind: 'other language',
  },
  {
    query: 'дескриптор теория и практика',
    expected: [
      'minsk-python-meetup/videos/2013-06-14-deskriptory-v-teorii-i-na-praktike-stanislav-rudakov-wargaming.json',
    ],
    kind: 'other language',
  },
  {
    query: 'светлов aiohttp',
    expected: [
      'pycon-belarus-2015/videos/vvedenie-v-aiohttp-andrei-svetlov.json',
      'pycon-belarus-2016/videos/andrei-svetlov-state-of-aiohttp-winter-2016.json',
      'pycon-ru-2015/videos/aiohttp.json',
      'pycon-ru-2018/videos/andrei-svetlov-python-core-developer-aiohttp-ot-avtora.json',
      'europython-2016/videos/andrew-svetlov-introduction-to-aiohttp.json',
      'pycon-apac-2016/videos/andrew-svetlov-introduction-into-aiohttp-pycon-apac-2016.json',
      'pycon-italia-2016/videos/andrew-svetlov-introduction-of-aiohttp.json',
      'pycon-us-2019/videos/mariatta-andrew-svetlov-hands-on-intro-to-aiohttp-pycon-2019.json',
    ],
    kind: 'other language',
  },
  {
    query: '自作検索エンジン',
    expected: ['pycon-jp-2019/videos/02-203_ru-men-zi-zuo-jian-suo-enzinryo-kato.json'],
    kind: 'other language',
  },
  {
    query: '入試数学',
    expected: [
      'pycon-jp-2018/videos/04-107-pythondejie-kuda-xue-ru-shi-shu-xue-xin-jing-zheng-gui.json',
    ],
    kind: 'other language',
  },
  {
    query: '漫画 分析',
    expected: [
      'pycon-jp-2016/videos/3_06-pythonで実現する4コマ漫画の分析評論.json',
      'pycon-jp-2017/videos/pythondeshi-xian-suru4komaman-hua-nofen-xi-ping-lun-2017-shinji-kitagawa-pycon-jp-2017.json',
    ],
    kind: 'other language',
  },
  {
    query: '異常検知',
    expected: [
      'pycon-jp-2018/videos/03-204-pythonniyoruyi-chang-jian-zhi-ru-men-da-shan-jiang.json',
    ],
    kind: 'other language',
  },
  {
    query: '野球 可視化',
    expected: [
      'pycon-jp-2015/videos/cr10-ye-qiu-hack-pythonwoyong-itadetafen-xi-toke-shi-hua.json',
    ],
    kind: 'other language',
  },
  {
    query: '競馬',
    expected: ['pycon-jp-2018/videos/01-101-shi-jian-jing-ma-detasaiensu-guan-jing-jun.json'],
    kind: 'other language',
  },
  {
    query: 'dna 가족 찾기',
    expected: ['pycon-kr-2014/videos/gimhyeongyong-dna-deiteoro-gajogcajgi-pycon-korea-2014.json'],
    kind: 'other language',
  },
  {
    query: '쇼핑몰 django',
    expected: [
      'pycon-apac-2016/videos/정경업-django로-쇼핑몰-만들자-pycon-apac-2016.json',
      'pycon-kr-2017/videos/joyeongil-django-aws-reul-iyonghan-syopingmol-seobiseu-gucug.json',
    ],
    kind: 'other language',
  },
  {
    query: '슈퍼마리오',
    expected: [
      'pycon-kr-2018/videos/ingongjineung-syupeomarioyi-geoyi-modeungeos-jeongweonseog.json',
    ],
    kind: 'other language',
  },
  {
    query: '위성 태양광',
    expected: [
      'pycon-kr-2018/videos/deuron-mic-ingongwiseong-yeongsangeul-iyonghan-taeyanggwangbaljeonso-ibjibunseog-coejaehyeon.json',
    ],
    kind: 'other language',
  },
  {
    query: 'sindrome del segundo sistema',
    expected: [
      'pycon-ar-2018/videos/sobreviviendo-al-sindrome-del-segundo-sistema-con-python-por-matias-lang-y-leonardo-lazzaro.json',
    ],
    kind: 'without accents',
  },
  {
    query: 'patrones de diseno bolonesa',
    expected: [
      'pycon-es-2017/videos/alvaro-leon-patrones-de-diseno-python-bolonesa-pycones-2017.json',
    ],
    kind: 'without accents',
  },
  {
    query: 'programacion periodista',
    expected: [
      'pycon-us-2019/videos/programacion-para-periodistas-el-uso-de-python-en-la-extraccion-y-analisis-de-reportajes.json',
    ],
    kind: 'without accents',
  },
  {
    query: 'androide pytónico',
    expected: ['pycon-ar-2012/videos/el-androide-pytonico-felipe-lerena-pyconar-2012.json'],
    kind: 'without accents',
  },
  {
    query: 'desventuras radioastronoma',
    expected: [
      'pycon-es-2019/videos/mi-casa-venturas-y-desventuras-de-una-radioastronoma-en-python-ana-karla-diaz-rodriguez.json',
    ],
    kind: 'without accents',
  },
  {
    query: 'maquina de estado em python',
    expected: ['python-sudeste-2018/videos/pyse-2018-maquinas-de-estado-em-python.json'],
    kind: 'without accents',
  },
  {
    query: 'reseaux sociaux milliard de pixels',
    expected: [
      'pycon-fr-2025/videos/visualiser_les_reseaux_sociaux_a_echelle_planetaire_un_milliard_de_pixels_a_la_fois.json',
    ],
    kind: 'without accents',
  },
  {
    query: 'nastepny prosze iteratory generatory',
    expected: [
      'pycon-pl-2013/videos/pycon-pl-2013-nastepny-prosze-iteratory-i-generatory-pod-lupa.json',
    ],
    kind: 'without accents',
  },
  {
    query: '图算法 反欺诈',
    expected: [
      'pycon-china-2019/videos/10-tu-suan-fa-ni-hao-fan-qi-zha-ying-yong-jie-shao-yu-shi-zuo.json',
    ],
    kind: 'other language',
  },
  {
    query: 'line 股票機器人',
    expected: [
      'pycon-tw-2018/videos/tu-pao-yi-ge-line-gu-piao-ji-qi-ren-victor-gau-chen-hong-zhe-malo-pycon-taiwan-2018.json',
    ],
    kind: 'other language',
  },
  {
    query: 'ned batchelder names values',
    expected: ['pycon-us-2015/videos/facts-and-myths-about-python-names-and-values.json'],
    kind: 'speaker',
  },
  {
    query: 'facundo batista unicode',
    expected: [
      'europython-2016/videos/facundo-batista-entendiendo-unicode.json',
      'pycon-ar-2011/videos/pyconar-2011-facundo-batista-entendiendo-unicode-pyar.json',
      'pycon-ar-2012/videos/entendiendo-unicode-facundo-batista-pyconar-2012.json',
    ],
    kind: 'speaker',
  },
  {
    query: 'louise grandjonc orm',
    expected: [
      'djangocon-eu-2017/videos/understanding-the-amazing-world-behind-your-orm-by-louise-grandjonc.json',
      'pybay-2019/videos/amazing-things-your-orm-can-or-cant-do-louise-grandjonc.json',
    ],
    kind: 'speaker',
  },
  {
    query: 'luciano ramalho descriptor',
    expected: [
      'pycon-us-2013/videos/encapsulation-with-descriptors.json',
      'pycon-us-2017/videos/luciano-ramalho-decorators-and-descriptors-decoded-pycon-2017.json',
      'pythonbrasil-2012/videos/descritores-de-atributos-em-python-luciano-ramalho.json',
    ],
    kind: 'speaker',
  },
  {
    query: 'pycon us 2015 keynote guido',
    expected: ['pycon-us-2015/videos/keynote-guido-van-rossum-1.json'],
    kind: 'event',
  },
  {
    query: 'djangocon europe 2017 orm',
    expected: [
      'djangocon-eu-2017/videos/understanding-the-amazing-world-behind-your-orm-by-louise-grandjonc.json',
      'djangocon-eu-2017/videos/weird-and-wonderful-things-to-do-with-the-orm-by-marc-tamlyn.json',
    ],
    kind: 'event',
  },
  {
    query: 'pycon au 2019 molecular dynamics',
    expected: [
      'pycon-au-2019/videos/the-universe-as-balls-and-springs-molecular-dynamics-in-python-lily-wang-pycon-au-2019.json',
    ],
    kind: 'event',
  },
  {
    query: '"live and let die"',
    expected: ['pycon-us-2015/videos/modules-and-packages-live-and-let-die.json'],
    kind: 'phrase',
  },
  {
    query: '"from the ground up" concurrency',
    expected: [
      'pycon-us-2015/videos/python-concurrency-from-the-ground-up-live.json',
      'pycon-au-2017/videos/concurrency-and-parallelism-from-the-ground-up.json',
      'pycon-us-2017/videos/amber-brown-implementing-concurrency-and-parallelism-from-the-ground-up-pycon-2017.json',
    ],
    kind: 'phrase',
  },
  {
    query: 'transforming code into beautiful idio',
    expected: ['pycon-us-2013/videos/transforming-code-into-beautiful-idiomatic-pytho.json'],
    kind: 'piece of a word',
  },
]
