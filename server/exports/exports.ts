// Public interface of the exports: NDJSON with everything (lines.ts), CSV for spreadsheets
// (csv.ts), the format of the pyvideo project (pyvideo.ts), nightly snapshots (snapshots.ts) and
// the table of talks whose recordings could be lost (at-risk-csv.ts).
export { atRiskCsv } from './at-risk-csv.ts'
export { exportCsv, exportNdjson, readExported } from './lines.ts'
export { exportPyvideo, writePyvideoFolder } from './pyvideo.ts'
export { newestSnapshotSeconds, writeDueSnapshot, writeSnapshot } from './snapshots.ts'
