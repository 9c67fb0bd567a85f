// An import of node:http would also initialize fetch and WebSocket, a tenth of the startup time.
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
