// The player markup of the interface document: an object element with three parameters and a nested
// embed element. Players of that kind no longer run anywhere, and no page of ours prints the
// markup; clients of the interface still expect it.

const players: { host: RegExp; video: RegExp; player: (video: string) => string }[] = [
  {
    host: /^(www\.|m\.)?(youtube\.com|youtube-nocookie\.com)$/,
    video: /^\/(?:watch\?(?:.*&)?v=|embed\/|v\/|shorts\/|live\/)([\w-]{11})(?![\w-])/,
    player: (video) => `http://www.youtube.com/v/${video}?version=3&hl=en_US`,
  },
  {
    host: /^youtu\.be$/,
    video: /^\/([\w-]{11})(?![\w-])/,
    player: (video) => `http://www.youtube.com/v/${video}?version=3&hl=en_US`,
  },
  {
    host: /^(www\.|player\.)?vimeo\.com$/,
    video: /^\/(?:video\/)?(\d{1,12})(?!\d)/,
    player: (video) => `http://vimeo.com/moogaloop.swf?clip_id=${video}&server=vimeo.com`,
  },
]

/** The markup for a video on a host that we know; empty for any other. */
export function embedHtml(sourceUrl: string | null | undefined): string {
  if (!sourceUrl || !URL.canParse(sourceUrl)) return ''
  const { hostname, pathname, search } = new URL(sourceUrl)
  for (const { host, video, player } of players) {
    const [, id] = (host.test(hostname) && video.exec(pathname + search)) || []
    if (id) return markup(player(id))
  }
  return ''
}

function markup(address: string): string {
  const value = address.replaceAll('&', '&amp;')
  return (
    `<object width="640" height="390"><param name="movie" value="${value}"></param>` +
    '<param name="allowFullScreen" value="true"></param><param name="allowscriptaccess" value="always"></param>' +
    `<embed src="${value}" type="application/x-shockwave-flash" width="640" height="390" ` +
    'allowscriptaccess="always" allowfullscreen="true"></embed></object>'
  )
}
