// The Flash player markup of the v2 API: an object element with three parameters and a nested embed
// element. Such players no longer run anywhere and no page contains the markup, but clients of the
// API still expect it.

const players: { host: RegExp; video: RegExp; player: (id: string) => string }[] = [
  {
    host: /^(www\.|m\.)?(youtube\.com|youtube-nocookie\.com)$/,
    video: /^\/(?:watch\?(?:.*&)?v=|embed\/|v\/|shorts\/|live\/)([\w-]{11})(?![\w-])/,
    player: (id) => `http://www.youtube.com/v/${id}?version=3&hl=en_US`,
  },
  {
    host: /^youtu\.be$/,
    video: /^\/([\w-]{11})(?![\w-])/,
    player: (id) => `http://www.youtube.com/v/${id}?version=3&hl=en_US`,
  },
  {
    host: /^(www\.|player\.)?vimeo\.com$/,
    video: /^\/(?:video\/)?(\d{1,12})(?!\d)/,
    player: (id) => `http://vimeo.com/moogaloop.swf?clip_id=${id}&server=vimeo.com`,
  },
]

/** Returns the markup for a video on a known host; an empty string for any other URL. */
export function embedHtml(sourceUrl: string | null | undefined): string {
  if (!sourceUrl || !URL.canParse(sourceUrl)) return ''
  const { hostname, pathname, search } = new URL(sourceUrl)
  for (const { host, video, player } of players) {
    const [, id] = (host.test(hostname) && video.exec(pathname + search)) || []
    if (id) return markup(player(id))
  }
  return ''
}

function markup(playerUrl: string): string {
  const value = playerUrl.replaceAll('&', '&amp;')
  return (
    `<object width="640" height="390"><param name="movie" value="${value}"></param>` +
    '<param name="allowFullScreen" value="true"></param>' +
    '<param name="allowscriptaccess" value="always"></param>' +
    `<embed src="${value}" type="application/x-shockwave-flash" width="640" height="390" ` +
    'allowscriptaccess="always" allowfullscreen="true"></embed></object>'
  )
}
