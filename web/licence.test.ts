import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recogniseLicence } from './licence.ts'

// The first entries of each list are spellings of real talks.

const spellings: Record<string, string[]> = {
  'CC BY': [
    'CC BY',
    'CC-BY',
    'BY CC',
    'creativeCommon',
    'Creative Commons Attribution license',
    'Creative Commons Attribution license (reuse allowed)',
    'Creative Commons Attribution license (reuse allowed',
    'Creative Commons Attribution License (CC-BY)',
    'cc_by',
  ],
  'CC BY 2.0': ['Creative Commons Attribution 2.0'],
  'CC BY 3.0': [
    'http://creativecommons.org/licenses/by/3.0/',
    'https://creativecommons.org/licenses/by/3.0/deed.de',
    'CC BY 3.0 Unported',
  ],
  'CC BY 3.0 AU': [
    'CC BY 3.0 AU',
    'Creative Commons Attribution 3.0 Australia',
    'http://creativecommons.org/licenses/by/3.0/au/',
  ],
  'CC BY 4.0': [
    'CC BY 4.0',
    'CC-BY-4.0',
    'Creative Commons Attribution 4.0 International (CC BY 4.0)',
    '© 2026 Ada, CC BY 4.0.',
  ],
  'CC BY-SA': ['CC BY-SA', 'CC-BY-SA'],
  'CC BY-SA 2.5 CA': ['CC BY-SA 2.5 CA'],
  'CC BY-SA 3.0': [
    'Creative Commons Attribution-ShareAlike 3.0',
    'Creative Commons BY-SA 3.0',
    'Attribution-ShareAlike 3.0 Unported',
  ],
  'CC BY-SA 3.0 US': ['CC-By-SA-3.0-USA'],
  'CC BY-NC': ['CC BY-NC', 'Creative Commons Attribution Non-Commercial'],
  'CC BY-NC-SA': ['CC BY-NC-SA', 'CC BY NC SA'],
  'CC BY-NC-SA 3.0': [
    'Creative Commons Attribution-NonCommercial-ShareAlike 3.0',
    'This video is licensed under the CC BY-NC-SA 3.0 license: https://creativecommons.org/licenses/by-nc-sa/3.0/\nPlease see our speaker release agreement for details: https://ep2020.europython.eu/events/speaker-release-agreement/\n',
  ],
  'CC BY-NC-SA 4.0': ['CC-BY-NC-SA 4.0', 'CC BY-NC-SA 4.0'],
  'CC BY-NC-ND': ['by-nc-nd', 'CC Attribution-NonCommercial-NoDerivatives'],
  'CC BY-ND 3.0': ['Creative Commons Attribution-NoDerivs 3.0'],
  'CC0 1.0': [
    'CC-0',
    'CC0',
    'Creative Commons CC0 1.0 Universal Public Domain Dedication',
    'https://creativecommons.org/publicdomain/zero/1.0/',
  ],
  'Standard YouTube License': [
    'Standard YouTube License',
    'Standard YouTube Licence',
    'youtube standard license',
    'youtube',
    'https://www.youtube.com/t/terms',
    'http://www.youtube.com/t/terms',
  ],
  MIT: ['MIT', 'The MIT License (MIT)', 'https://opensource.org/licenses/MIT'],
  'Apache 2.0': ['Apache License, Version 2.0', 'Apache-2.0'],
  BSD: ['BSD', 'BSD license'],
  'BSD 2-Clause': ['BSD-2-Clause', 'Simplified BSD License'],
  'BSD 3-Clause': ['3-clause BSD', 'New BSD License'],
  GFDL: ['GFDL', 'GNU Free Documentation License'],
  'GFDL 1.3': ['GNU Free Documentation License 1.3', 'GFDL-1.3'],
  'GPL 3.0': ['GPLv3', 'GNU General Public License v3'],
  'Public domain': ['Public Domain', 'This work is in the public domain.'],
}

test('recognises a licence in many spellings', () => {
  for (const [name, texts] of Object.entries(spellings))
    for (const text of texts) assert.equal(recogniseLicence(text)?.name, name, text)
})

test('ignores texts that name no specific licence', () => {
  for (const text of [
    '',
    ' ',
    'CC',
    'Creative Commons',
    'No license (All rights reserved)',
    'Copyright belongs to the speaker.',
    'Copyright belongs to the speaker',
    'NDC Conferences',
    'Recorded by CC Studios, edited by Ada',
    'summit committee',
    'CC BY-ND-SA',
    'attribution required',
  ])
    assert.equal(recogniseLicence(text), undefined, text)
})

test('returns the URL and, if it exists, the SPDX identifier', () => {
  const of = (text: string) => {
    const { url, spdx, isOpen } = recogniseLicence(text) ?? {}
    return [url, spdx, isOpen]
  }
  assert.deepEqual(of('CC BY 3.0 AU'), [
    'https://creativecommons.org/licenses/by/3.0/au/',
    'CC-BY-3.0-AU',
    true,
  ])
  assert.deepEqual(of('CC BY-SA 2.5 CA'), [
    'https://creativecommons.org/licenses/by-sa/2.5/ca/',
    undefined,
    true,
  ])
  assert.deepEqual(of('CC-BY-NC-SA 4.0'), [
    'https://creativecommons.org/licenses/by-nc-sa/4.0/',
    'CC-BY-NC-SA-4.0',
    true,
  ])
  // The version is unknown.
  assert.deepEqual(of('CC BY'), [
    'https://creativecommons.org/share-your-work/cclicenses/',
    undefined,
    true,
  ])
  assert.deepEqual(of('youtube'), ['https://www.youtube.com/t/terms', undefined, false])
  assert.deepEqual(of('MIT'), ['https://spdx.org/licenses/MIT.html', 'MIT', true])
})
