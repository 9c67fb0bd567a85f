// The entry point: converts the markup of imported texts to Markdown.
export { htmlToMarkdown } from './html.ts'
export { rstToMarkdown } from './rst.ts'
