import type { ComponentChildren } from 'preact'
import { inkOn } from '../colour.ts'
import type { EntityProfile } from '../data.ts'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

// The profile of an event or speaker, at the top of its page.

interface Props {
  readonly profile: EntityProfile | undefined
}

/** Returns the style of a page with the colour of an event. */
export function bannerStyle(profile: EntityProfile | undefined): string | undefined {
  const colour = profile?.colour ?? ''
  const ink = inkOn(colour)
  return ink && `.banner{--banner:${colour};--banner-ink:${ink}}`
}

/** The name and the facts of an entity, with its picture and on its colour if it has them. */
export function Banner({ profile, children }: Props & { readonly children: ComponentChildren }) {
  const { href } = useView()
  const classes = ['masthead', profile?.picture?.kind, bannerStyle(profile) && 'banner']
  return (
    <div class={classes.filter(Boolean).join(' ')}>
      {profile?.picture && <img src={href(paths.profilePicture(profile.picture))} alt="" />}
      <div>{children}</div>
    </div>
  )
}

/** City and country of an event in the language of the page, and whether it was online. */
export function placeText(
  { place }: EntityProfile,
  { country, words }: Pick<ReturnType<typeof useView>, 'country' | 'words'>,
): string {
  if (!place) return ''
  const where = [place.city, place.country && country(place.country)].filter(Boolean).join(', ')
  return [where, place.online && words.online].filter(Boolean).join(' · ')
}

/** Links to other sites, and to the other events of the series. */
export function ProfileDetails({ profile }: Props) {
  const { words, href } = useView()
  if (!profile) return null
  const { links, series } = profile
  return (
    <>
      {links.length > 0 && (
        <ul class="profile-links" aria-label={words.links}>
          {labelled(links, words.linkKinds).map(({ url, label }) => (
            <li key={url}>
              <a href={url} rel="nofollow noopener ugc">
                {label}
              </a>
            </li>
          ))}
        </ul>
      )}
      {series && series.events.length > 1 && (
        <nav class="series" aria-label={words.inSeries(series.name)}>
          <span class="series-name">{words.inSeries(series.name)}</span>
          <ul>
            {series.events.map((event) => (
              <li key={event.id}>
                <a
                  href={href(paths.entity('category', event))}
                  aria-current={event.isCurrent ? 'page' : undefined}
                >
                  {event.name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </>
  )
}

type Links = EntityProfile['links']
type LinkKinds = ReturnType<typeof useView>['words']['linkKinds']

/** Labels links by their kind. Those with equal labels, and those of other kinds, get the host. */
function labelled(links: Links, names: LinkKinds): { url: string; label: string }[] {
  const unique = links.filter(
    ({ url }, index) => links.findIndex((link) => link.url === url) === index,
  )
  return unique.map(({ kind, url }) => {
    const host = URL.parse(url)?.hostname.replace(/^www\./, '') ?? url
    if (kind === 'other') return { url, label: host }
    const isOnly = unique.filter((link) => link.kind === kind).length === 1
    return { url, label: isOnly ? names[kind] : `${names[kind]} (${host})` }
  })
}
