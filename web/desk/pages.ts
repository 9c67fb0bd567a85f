import { type ComponentType, h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { Account } from './account.tsx'
import { Audit } from './audit.tsx'
import { DeskHome } from './home.tsx'
import { ImportPage } from './import.tsx'
import { Imports } from './imports.tsx'
import { LinkCreated, People, PersonPage } from './people.tsx'
import { Confirm, Forbidden, LinkPage, LinkRefused, SignIn } from './sign-in.tsx'
import { Tokens } from './tokens.tsx'
import { DeskContext, type DeskView, prepareDeskView } from './view.ts'

/** The component of each page of the desk, for `renderDeskPage`. */
export const deskPages = {
  home: DeskHome,
  signIn: SignIn,
  link: LinkPage,
  linkRefused: LinkRefused,
  confirm: Confirm,
  forbidden: Forbidden,
  account: Account,
  people: People,
  person: PersonPage,
  linkCreated: LinkCreated,
  tokens: Tokens,
  audit: Audit,
  imports: Imports,
  import: ImportPage,
}

/** Renders one of `deskPages` as a complete HTML document. */
export function renderDeskPage<Data extends object>(
  page: ComponentType<Data>,
  data: Data,
  view: DeskView,
): string {
  const root = h(DeskContext.Provider, { value: prepareDeskView(view), children: h(page, data) })
  return `<!doctype html>${renderToString(root)}`
}
