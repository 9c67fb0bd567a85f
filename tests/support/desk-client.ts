import assert from 'node:assert/strict'
import { parse as parseHtml } from 'parse5'
import { invitePerson } from '../../server/auth/auth.ts'
import { call, type Reply, type TestArchive } from './harness.ts'

// A browser without scripts for the pages of the desk: keeps the cookies and sends forms with their
// hidden fields.

export interface PageForm {
  readonly action: string
  readonly fields: Record<string, string>
  readonly attributes: Record<string, string>
}

export interface DeskReply extends Reply {
  readonly forms: readonly PageForm[]
  /** The body as Unicode text. */
  readonly html: string
}

export interface TestFile {
  readonly name: string
  readonly content: string
}

const boundary = 'x-boundary-x'
export const multipartType = `multipart/form-data; boundary=${boundary}`

/** Builds a form with files. Its parts have the given order. */
export function multipart(parts: readonly (TestFile | Record<string, string>)[]): string {
  const part = (header: string, content: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${header}\r\n\r\n${content}\r\n`
  const isFile = (value: object): value is TestFile => 'content' in value
  const encoded = parts.flatMap((value) =>
    isFile(value)
      ? [part(`name="file"; filename="${value.name}"`, value.content)]
      : Object.entries(value).map(([name, content]) => part(`name="${name}"`, content)),
  )
  return `${encoded.join('')}--${boundary}--\r\n`
}

/** Who invites people in tests, for the audit log. */
export const operator = { actor: 'root (terminal)', person: null, request: 'test' }

/** Invites a person, who signs in with the code of the link. */
export async function signIn(
  archive: TestArchive,
  name: string,
  role: 'suggester' | 'editor' | 'admin',
): Promise<{ id: number; client: DeskClient }> {
  const { id, link } = await invitePerson(archive.pool, { name, mail: null, role }, operator)
  const client = createDeskClient(archive)
  await client.post(`/desk/link/${link.secret}/code`, { code: link.code })
  return { id, client }
}

export type DeskClient = ReturnType<typeof createDeskClient>

interface ClientOptions {
  /** The Host header. */
  readonly host?: string
  /** Headers of each request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Creates a client of an archive or server. */
export function createDeskClient(
  archive: { readonly url: string; readonly call?: TestArchive['call'] },
  { host = 'localhost', headers = {} }: ClientOptions = {},
) {
  const cookies = new Map<string, string>()
  const cookieHeader = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const send: TestArchive['call'] =
    archive.call ?? ((method, path, options) => call(archive.url, method, path, options))
  const request = async (
    method: string,
    path: string,
    raw?: string | Buffer,
    extra: Record<string, string> = {},
  ): Promise<DeskReply> => {
    const reply = await send(method, path, {
      ...(raw !== undefined && { raw }),
      headers: {
        host,
        accept: 'text/html',
        ...(raw !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(cookies.size > 0 && { cookie: cookieHeader() }),
        ...headers,
        ...extra,
      },
    })
    for (const set of reply.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (set.includes('Max-Age=0')) cookies.delete(name)
      else cookies.set(name, value)
    }
    const html = Buffer.from(reply.text, 'latin1').toString()
    return { ...reply, html, forms: formsIn(html) }
  }
  return {
    /** The Cookie header of the next request. */
    get cookie() {
      return cookieHeader()
    },
    set cookie(header: string) {
      cookies.clear()
      for (const pair of header.split('; ').filter(Boolean)) {
        const [name = '', value = ''] = pair.split('=')
        cookies.set(name, value)
      }
    },
    /** Opens a page. */
    get: (path: string, headers?: Record<string, string>) =>
      request('GET', path, undefined, headers),
    /** Sends fields to a path, as a page of the site would. */
    post: (
      path: string,
      fields: Record<string, string>,
      headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
    ) => request('POST', path, new URLSearchParams(fields).toString(), headers),
    /** Fills in the form of a page and sends it. */
    async submit(page: DeskReply, action: string, fields: Record<string, string> = {}) {
      const form = formTo(page, action)
      return this.post(form.action, { ...form.fields, ...fields })
    },
    /** Fills in a form with a file and sends it. */
    upload(page: DeskReply, action: string, file: TestFile, fields: Record<string, string> = {}) {
      const form = formTo(page, action)
      assert.equal(form.attributes.enctype, 'multipart/form-data')
      return this.postBody(form.action, multipart([{ ...form.fields, ...fields }, file]))
    },
    /** Sends the body of a form with a file, as a page of the site would. */
    postBody: (
      path: string,
      body: string | Buffer,
      type = multipartType,
      headers: Record<string, string> = {},
    ) =>
      request('POST', path, body, {
        'content-type': type,
        'sec-fetch-site': 'same-origin',
        ...headers,
      }),
    /** Opens the page to which a form redirects. */
    follow(reply: Reply) {
      assert.equal(reply.status, 303, reply.text.slice(0, 500))
      return this.get(String(reply.headers.location).split('#', 1)[0] as string)
    },
  }
}

/** Returns the form of a page with this target. */
export function formTo({ forms, html }: DeskReply, action: string): PageForm {
  const form = forms.find((form) => form.action === action)
  assert.ok(form, `no form for ${action} in: ${html.slice(0, 3000)}`)
  return form
}

/** Returns the options of WebAuthn in a form. */
export function passkeyOptions(page: DeskReply, action: string) {
  return JSON.parse(formTo(page, action).attributes['data-options'] ?? '{}')
}

interface HtmlNode {
  readonly tagName?: string
  readonly attrs?: readonly { readonly name: string; readonly value: string }[]
  readonly childNodes?: readonly HtmlNode[]
  /** Of a text. */
  readonly value?: string
}

function formsIn(html: string): PageForm[] {
  const forms: PageForm[] = []
  const visit = (node: HtmlNode, form: PageForm | undefined) => {
    const attributes = Object.fromEntries(
      (node.attrs ?? []).map(({ name, value }) => [name, value]),
    ) as Record<string, string>
    let current = form
    if (node.tagName === 'form') {
      current = { action: attributes.action ?? '', fields: {}, attributes }
      forms.push(current)
    }
    const isChoice = attributes.type === 'radio' || attributes.type === 'checkbox'
    const isChosen = (!isChoice || 'checked' in attributes) && attributes.type !== 'file'
    if (node.tagName === 'input' && attributes.name && current && isChosen)
      current.fields[attributes.name] = attributes.value ?? ''
    if (node.tagName === 'textarea' && attributes.name && current)
      current.fields[attributes.name] = (node.childNodes?.[0]?.value ?? '').replaceAll('\n', '\r\n')
    for (const child of node.childNodes ?? []) visit(child, current)
  }
  visit(parseHtml(html) as HtmlNode, undefined)
  return forms
}
