// The front door. What an export says is in lines.ts, the table for spreadsheets in csv.ts, talks
// as pyvideo keeps them in pyvideo.ts; files are written in files.ts, and those of every night in
// snapshots.ts.
export { exportCsv, exportNdjson } from './lines.ts'
export { exportPyvideo, writePyvideoFolder } from './pyvideo.ts'
export { writeDueSnapshot, writeSnapshot } from './snapshots.ts'
