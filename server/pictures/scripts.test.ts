import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import sharp from 'sharp'
import { drawCover, drawPreview } from './cover.ts'
import { openImages } from './images.ts'

// Renders covers and link previews with real fonts and looks at the pixels: text stays within the
// margins in every script. CI installs fonts-noto-core; a script without a font is skipped.

const scripts: Record<string, { language: string; title: string; person: string }> = {
  Latin: {
    language: 'en',
    title: 'Understanding the inner workings of a remarkably complicated machine room',
    person: 'Wilhelmina Montgomery-Wattsworth',
  },
  Greek: {
    language: 'el',
    title: 'Προγραμματισμός για όλους: πώς να γράφετε καθαρό κώδικα σε μεγάλες ομάδες',
    person: 'Αλεξάνδρα Παπαδοπούλου',
  },
  Cyrillic: {
    language: 'ru',
    title: 'Высокопроизводительные вычисления: широкомасштабные приложения и журналы',
    person: 'Александра Щербакова',
  },
  Armenian: {
    language: 'hy',
    title: 'Ծրագրավորման ժամանակակից մեթոդները և բաց կոդով գրադարանները համայնքում',
    person: 'Անահիտ Հովհաննիսյան',
  },
  Georgian: {
    language: 'ka',
    title: 'პროგრამირების თანამედროვე მეთოდები და ღია კოდის ბიბლიოთეკები საზოგადოებაში',
    person: 'ნინო ბერიძე',
  },
  Hebrew: {
    language: 'he',
    title: 'פייתון במדע הנתונים: מה חדש ומה כדאי לדעת לפני שמתחילים פרויקט גדול',
    person: 'שירה אברהם',
  },
  Arabic: {
    language: 'ar',
    title: 'مقدمة في برمجة بايثون للمبتدئين وكيفية بناء تطبيقات الويب الحديثة بسرعة',
    person: 'فاطمة الزهراء',
  },
  Devanagari: {
    language: 'hi',
    title: 'पाइथन में प्रोग्रामिंग की शुरुआत: स्वतंत्र सॉफ्टवेयर और समुदाय के साथ काम करना',
    person: 'लक्ष्मी श्रीवास्तव',
  },
  Bengali: {
    language: 'bn',
    title: 'পাইথন প্রোগ্রামিংয়ের মাধ্যমে মুক্ত সফটওয়্যার এবং সম্প্রদায়ের সঙ্গে কাজ করা',
    person: 'অনন্যা চট্টোপাধ্যায়',
  },
  Tamil: {
    language: 'ta',
    title: 'பைத்தான் நிரலாக்கத்தின் அடிப்படைகள் மற்றும் கட்டற்ற மென்பொருள் சமூகம்',
    person: 'மீனாட்சி சுந்தரேஸ்வரன்',
  },
  Thai: {
    language: 'th',
    title: 'การเขียนโปรแกรมภาษาไพทอนสำหรับผู้เริ่มต้นและการทำงานร่วมกับชุมชนซอฟต์แวร์เสรี',
    person: 'สมชาย ใจดี',
  },
  'Chinese and Japanese': {
    language: 'ja',
    title: '組合せ最適化を体系的に知ってPythonで実行してみよう（ただし「整数」のみ）',
    person: '山田 花子',
  },
}

const siteName = 'The Archive of Talks'
const [margin, width] = [36, 640]

for (const [script, { language, title, person }] of Object.entries(scripts))
  test(`text in ${script} stays within the margins of covers and previews`, async (t) => {
    // Without Noto Sans, letters may come from a wider font.
    if (!hasFont('Noto Sans') || !hasFont(`:lang=${language}`))
      return t.skip(`no Noto font for ${script} is installed`)
    const words = title.split(' ')
    const titles = [
      words[0] ?? title,
      words.slice(0, 3).join(' '),
      title,
      `${title} ${title}`,
      title.replaceAll(/[\s:]/g, ''),
    ]
    for (const text of titles) {
      const talk = { title: text, category: text, speakers: [person, person, person] }
      for (const svg of [drawCover(talk).svg, drawPreview(talk, siteName)])
        await assertWithin(svg, margin - 4, width - margin + 4)
    }
  })

test('text in a wider font is not cut off', async (t) => {
  if (!hasFont('DejaVu Sans:bold')) return t.skip('DejaVu Sans is not installed')
  const text = scripts.Latin?.title ?? ''
  const words = text.split(' ')
  for (let count = 1; count <= words.length; count++) {
    const title = words.slice(0, count).join(' ')
    const talk = { title, category: title, speakers: [text] }
    for (const svg of [drawCover(talk).svg, drawPreview(talk, siteName)])
      await assertWithin(svg.replace(/font-family="[^"]*"/, 'font-family="DejaVu Sans"'), 28, 636)
  }
})

test('a preview shows the title, the speakers, the event and the archive', async (t) => {
  const talk = { title: 'Tiny queues', category: 'Example Days', speakers: ['Ann', 'Bo & Co'] }
  const svg = drawPreview(talk, 'Shelf <1>')
  const texts = [...svg.matchAll(/<text [^>]*>([^<]*)</g)].map(([, text]) => text)
  assert.deepEqual(texts, ['Tiny queues', 'Ann, Bo &amp; Co', 'Example Days', 'Shelf &lt;1&gt;'])
  const alone = drawPreview({ ...talk, speakers: [] }, 'Shelf')
  assert.equal([...alone.matchAll(/<text /g)].length, 3)

  // As readers get it: rendered by the decoder process, with text in each of the lines.
  const images = openImages()
  t.after(images.stop)
  const [withText, withoutText] = await Promise.all(
    [svg, svg.replace(/<g font-family.*<\/g>/, '')].map(async (drawing) => {
      const picture = sharp(await images.render(drawing)).greyscale()
      const { width, height, format } = await picture.metadata()
      assert.deepEqual([width, height, format], [1200, 630, 'jpeg'])
      return picture.raw().toBuffer()
    }),
  )
  if (!hasFont(':lang=en')) return t.skip('no font is installed')
  const isDrawn = (left: number, top: number, right: number, bottom: number) => {
    for (let y = top; y < bottom; y++)
      for (let x = left; x < right; x++)
        if (Math.abs((withText?.[y * 1200 + x] ?? 0) - (withoutText?.[y * 1200 + x] ?? 0)) > 60)
          return true
    return false
  }
  assert.ok(isDrawn(60, 500, 600, 535), 'the speakers')
  assert.ok(isDrawn(60, 545, 600, 580), 'the event')
  assert.ok(isDrawn(900, 545, 1140, 580), 'the archive')
  assert.ok(!isDrawn(0, 600, 1200, 630), 'the lower margin')
})

function hasFont(pattern: string): boolean {
  const { status, stdout } = spawnSync('fc-list', [pattern, 'family'], { encoding: 'utf8' })
  return status === 0 && stdout.trim() !== ''
}

/** Asserts that the text of a drawing is visible, and has no pixel outside of these columns. */
async function assertWithin(svg: string, left: number, right: number): Promise<void> {
  const [head = ''] = /^<svg [^>]*>/.exec(svg) ?? []
  const [text = ''] = /<g font-family.*<\/g>/.exec(svg) ?? []
  const { data, info } = await sharp(Buffer.from(`${head}${text}</svg>`))
    .extractChannel('alpha')
    .raw()
    .toBuffer({ resolveWithObject: true })
  const scale = info.width / width
  let [first, last] = [info.width, 0]
  for (let index = 0; index < data.length; index++)
    if ((data[index] ?? 0) > 64) {
      first = Math.min(first, index % info.width)
      last = Math.max(last, index % info.width)
    }
  const found = `text from ${(first / scale).toFixed(0)} to ${(last / scale).toFixed(0)}: ${text}`
  assert.ok(last > 0, `no ${found}`)
  assert.ok(first / scale >= left && last / scale <= right, found)
}
