// Inline SVG icons in the colour of the surrounding text.

/** The logo: books on a shelf. */
export function ShelfIcon() {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M3 4h4v14H3zM9 6h3v12H9zM14.2 6.6l3.6-1 3.2 12-3.6 1z" fill="currentColor" />
      <path d="M1.5 20.5h21" stroke="currentColor" stroke-width="2" stroke-linecap="round" />
    </svg>
  )
}

export function SearchIcon() {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path
        d="M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm4.8 11.3L21 21"
        fill="none"
        stroke="currentColor"
        stroke-width="2.2"
        stroke-linecap="round"
      />
    </svg>
  )
}

export function FeedIcon() {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path
        d="M5 5a14 14 0 0 1 14 14M5 11a8 8 0 0 1 8 8"
        fill="none"
        stroke="currentColor"
        stroke-width="2.4"
        stroke-linecap="round"
      />
      <circle cx="6.5" cy="17.5" r="2" fill="currentColor" />
    </svg>
  )
}

export function PlayIcon() {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M7 4.5v15L19.5 12z" fill="currentColor" />
    </svg>
  )
}

export function CloseIcon() {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path
        d="M6 6l12 12M18 6 6 18"
        stroke="currentColor"
        stroke-width="2.2"
        stroke-linecap="round"
      />
    </svg>
  )
}

export function MenuIcon() {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path
        d="M4 6.5h16M4 12h16M4 17.5h16"
        stroke="currentColor"
        stroke-width="2.2"
        stroke-linecap="round"
      />
    </svg>
  )
}
