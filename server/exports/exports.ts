// Public interface of the exports: NDJSON with everything (lines.ts), CSV for spreadsheets
// (csv.ts), the format of the pyvideo project (pyvideo.ts) and nightly snapshots (snapshots.ts).
export { exportCsv, exportNdjson, readExported } from './lines.ts'
export { exportPyvideo, writePyvideoFolder } from './pyvideo.ts'
export { newestSnapshotSeconds, writeDueSnapshot, writeSnapshot } from './snapshots.ts'
