import { localeNames, locales } from '../messages/messages.ts'
import { paths } from '../paths.ts'
import { themes, useView } from '../view.ts'

/** The footer of every page, with the preferences. */
export function Footer() {
  const { words, href, address, locale, theme, site } = useView()
  return (
    <footer class="site-footer" id="footer">
      <div class="frame">
        <p>{words.machineReadable}</p>
        {site.licence && (
          <p>
            {words.dataLicence} <a href={site.licence.url}>{site.licence.name}</a>.{' '}
            {words.recordingLicences}
          </p>
        )}
        {site.source && (
          <p>
            {words.copyOf} <a href={site.source + address}>{new URL(site.source).host}</a>
          </p>
        )}
        {site.operator && (
          <p>
            {words.operatedBy}{' '}
            {site.operator.url ? (
              <a href={site.operator.url}>{site.operator.name}</a>
            ) : (
              site.operator.name
            )}
          </p>
        )}
        <ul class="plain row">
          <li>
            <a href={href(paths.about)}>{words.aboutArchive}</a>
          </li>
          <li>
            <a href={href(paths.atRisk)}>{words.atRisk.title}</a>
          </li>
          {site.contact && (
            <li>
              <a href={site.contact}>{words.sitePages.contact}</a>
            </li>
          )}
          {(['imprint', 'privacy'] as const)
            .filter((page) => site.pages.includes(page))
            .map((page) => (
              <li key={page}>
                <a href={href(paths.sitePage(page))}>{words.sitePages[page]}</a>
              </li>
            ))}
          <li>
            <a href={href(paths.myTalks)}>{words.myTalks}</a>
          </li>
          <li>
            <a href={href(paths.follow(paths.home))}>{words.feeds}</a>
          </li>
          <li>
            <a href={href('/api')}>{words.api}</a>
          </li>
          <li>
            <button type="button" class="as-link with-scripts" data-keys>
              {words.keys} <kbd>?</kbd>
            </button>
          </li>
        </ul>
        <form class="prefer" action={href(paths.prefer)}>
          {/* The reader comes back to this form, not to the top of the page. */}
          <input type="hidden" name="to" value={`${address}#footer`} />
          <fieldset>
            <legend>{words.language}</legend>
            {locales.map((it) => (
              <button
                type="submit"
                key={it}
                name="locale"
                value={it}
                lang={it}
                aria-pressed={it === locale}
              >
                {localeNames[it].name}
              </button>
            ))}
          </fieldset>
          <fieldset>
            <legend>{words.theme}</legend>
            {themes.map((it) => (
              <button type="submit" key={it} name="theme" value={it} aria-pressed={it === theme}>
                {words.themes[it]}
              </button>
            ))}
          </fieldset>
        </form>
      </div>
    </footer>
  )
}
